import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { toSafeInteger } from '../../../platform/database/columns.ts';
import { isStatementTimeout } from '../../../platform/database/database-errors.ts';
import { Transactions, type Isolation } from '../../../platform/database/transactions.ts';
import { Refusal } from '../../../platform/http/refusal.ts';
import type { QuerySource } from '../query-source.ts';
import { lastUsesOf, type UsedKeys } from '../last-uses.sql.ts';
import { RECENT_SPAN } from '../recent-sums.sql.ts';
import { lastDayOfRoutes, type RouteHour } from '../route-hours.sql.ts';
import { readTraffic } from '../traffic.sql.ts';
import { usedOf, type Used } from '../used.sql.ts';
import { selectBudgeted, type BudgetedQuestion } from './select-budgeted.ts';
import { selectDays, selectRequests, type RequestSelection } from './select-requests.ts';
import { selectStatistics, type StatisticsQuestion } from './select-statistics.ts';
import { selectPrices, selectTop, type RecentSpan, type TopQuestion } from './select-top.ts';

/** A longer question is of no use to a page or chart, and it slows down everyone else. */
const QUESTION_MS = 10_000;
/** Sums of a hundred thousand groups fit into this memory; otherwise they would use temporary files. */
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

/** Answers all questions about requests and their sums. Each question that takes too long ends as a refusal that names what to narrow. */
@Injectable()
export class UsageStore {
  protected readonly questionMs: number = QUESTION_MS;
  private readonly source: QuerySource = {
    query: (sql: string, parameters: unknown[] = []) => this.ask({ sql, parameters }),
  };

  constructor(private readonly transactions: Transactions) {}

  /** Returns rows of single requests, newest first, with names. */
  async requests(which: RequestSelection): Promise<unknown[]> {
    const select = selectDays(which);
    const days = select && (await this.ask<{ day: string }>(select)).map(({ day }) => day);
    return this.ask(selectRequests(which, days));
  }

  /** Returns sums by interval and group, at most `rowsMax` rows. */
  sums(question: StatisticsQuestion, rowsMax: number): Promise<unknown[]> {
    return this.ask(selectStatistics(question, rowsMax));
  }

  /** Returns the groups with the largest use, then the sums of all. Both the span and the sums it bounds come from one snapshot. */
  async top(question: TopQuestion): Promise<unknown[]> {
    return this.within('REPEATABLE READ', async (tx) => {
      const [prices] = await queryIn(tx, selectPrices(question));
      const [span] = await queryIn<RecentSpan>(tx, { sql: RECENT_SPAN, parameters: [] });
      return queryIn(tx, selectTop(question, pricesRow.parse(prices), span));
    });
  }

  /** Returns the traffic of today and of the last 24 hours, of all accounts. */
  traffic(): ReturnType<typeof readTraffic> {
    return readTraffic(this.source);
  }

  /** Returns the traffic of each model at each upstream in the last day, by hour. */
  routeHours(): Promise<RouteHour[]> {
    return lastDayOfRoutes(this.source);
  }

  /** Returns when these keys were last used, a second or two behind the nodes. Unused keys are absent. */
  lastUses(of: UsedKeys): Promise<ReadonlyMap<number, Date>> {
    return lastUsesOf(this.source, of);
  }

  /** Returns the charged tokens of an account in the last day and week, by model. */
  used(userId: number): Promise<ReadonlyMap<number, Used>> {
    return usedOf(this.source, userId);
  }

  /** Returns how far past requests would have used up an amount. */
  async budgeted(question: BudgetedQuestion): Promise<z.output<typeof budgetedRow>> {
    const [row] = await this.ask(selectBudgeted(question));
    return budgetedRow.parse(row);
  }

  private ask<Row>(statement: Statement): Promise<Row[]> {
    return this.within('READ COMMITTED', (tx) => queryIn(tx, statement));
  }

  /** Does the work in one transaction with the limits of a question. */
  private async within<T>(
    isolation: Isolation,
    work: (tx: EntityManager) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.transactions.run(async (tx) => {
        await tx.query(
          "SELECT set_config('statement_timeout', $1, true), set_config('work_mem', $2, true)",
          [`${this.questionMs}ms`, MEMORY],
        );
        return work(tx);
      }, isolation);
    } catch (error) {
      if (!isStatementTimeout(error)) throw error;
      throw new Refusal('query_too_large', { detail: NARROW });
    }
  }
}

function queryIn<Row>(tx: EntityManager, { sql, parameters }: Statement): Promise<Row[]> {
  return tx.query(sql, parameters);
}
