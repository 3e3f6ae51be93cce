import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { toSafeInteger } from '../../../platform/database/columns.ts';
import { isStatementTimeout } from '../../../platform/database/database-errors.ts';
import { Transactions } from '../../../platform/database/transactions.ts';
import { Refusal } from '../../../platform/http/refusal.ts';
import type { QuerySource } from '../query-source.ts';
import { lastUsesOf, type UsedKeys } from '../last-uses.sql.ts';
import { lastDayOfRoutes, type RouteHour } from '../route-hours.sql.ts';
import { readTraffic } from '../traffic.sql.ts';
import { usedOf, type Used } from '../used.sql.ts';
import { selectBudgeted, type BudgetedQuestion } from './select-budgeted.ts';
import { selectDays, selectRequests, type RequestSelection } from './select-requests.ts';
import { selectStatistics, type StatisticsQuestion } from './select-statistics.ts';
import { selectPrices, selectTop, type TopQuestion } from './select-top.ts';

/** A page or a chart that takes longer than this is of no use, and what it reads is taken from everyone else. */
const QUESTION_MS = 10_000;
/** Sums of a hundred thousand groups, which would go through files otherwise. */
const MEMORY = '32MB';
const NARROW =
  'Ask for a shorter period (from, to), one account (user_id) or one key (key_id), or leave out a filter';

interface Statement {
  sql: string;
  parameters: unknown[];
}

const units = z.string().transform(toSafeInteger);
const pricesRow = z.object({
  at: z.array(z.string()),
  models: z.array(z.number()),
  prices: z.array(z.number()),
});
const budgetedRow = z.object({
  requests: z.number(),
  used: units,
  most: units,
  refused: z.number(),
});

/** The port through which requests and their sums are asked for. A question that takes too long ends as a refusal that says what to narrow. */
@Injectable()
export class UsageStore {
  protected readonly questionMs: number = QUESTION_MS;
  private readonly source: QuerySource = {
    query: (sql: string, parameters: unknown[] = []) => this.ask({ sql, parameters }),
  };

  constructor(private readonly transactions: Transactions) {}

  /** Rows of single requests, newest first, with their names. */
  async requests(which: RequestSelection): Promise<unknown[]> {
    const select = selectDays(which);
    const days = select && (await this.ask<{ day: string }>(select)).map(({ day }) => day);
    return this.ask(selectRequests(which, days));
  }

  /** Sums by interval and group, at most `rowsMax`. */
  sums(question: StatisticsQuestion, rowsMax: number): Promise<unknown[]> {
    return this.ask(selectStatistics(question, rowsMax));
  }

  /** The groups that used the most, then all together. */
  async top(question: TopQuestion): Promise<unknown[]> {
    const [prices] = await this.ask(selectPrices(question));
    return this.ask(selectTop(question, pricesRow.parse(prices)));
  }

  /** The traffic of today and of the last 24 hours, of all accounts. */
  traffic(): ReturnType<typeof readTraffic> {
    return readTraffic(this.source);
  }

  /** The traffic of each model at each upstream in the last day, by hour. */
  routeHours(): Promise<RouteHour[]> {
    return lastDayOfRoutes(this.source);
  }

  /** When these keys were last used, a second or two behind the nodes; without those that were not used yet. */
  lastUses(of: UsedKeys): Promise<ReadonlyMap<number, Date>> {
    return lastUsesOf(this.source, of);
  }

  /** The charged tokens of an account in the last day and week, by model. */
  used(userId: number): Promise<ReadonlyMap<number, Used>> {
    return usedOf(this.source, userId);
  }

  /** Returns how far requests would have used up an amount. */
  async budgeted(question: BudgetedQuestion): Promise<z.output<typeof budgetedRow>> {
    const [row] = await this.ask(selectBudgeted(question));
    return budgetedRow.parse(row);
  }

  private async ask<Row>({ sql, parameters }: Statement): Promise<Row[]> {
    try {
      return await this.transactions.run(async (tx) => {
        await tx.query(
          "SELECT set_config('statement_timeout', $1, true), set_config('work_mem', $2, true)",
          [`${this.questionMs}ms`, MEMORY],
        );
        return tx.query(sql, parameters);
      });
    } catch (error) {
      if (!isStatementTimeout(error)) throw error;
      throw new Refusal('query_too_large', { detail: NARROW });
    }
  }
}
