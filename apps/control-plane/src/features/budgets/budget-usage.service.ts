import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Caller } from '../../platform/access/caller.ts';
import type { LiveBudget } from '@tollgate/keyspace';
import { LiveBalances } from '../live-state/live-balances.ts';
import { readEntries, readPeriods, type PeriodRow } from './budget-periods.sql.ts';
import type { BudgetRow } from './budget.entity.ts';
import { writeAmount, type BudgetUsage } from './budgets.dto.ts';
import { BudgetsService, currentPeriod } from './budgets.service.ts';
import { NO_PERIOD } from './calendar.ts';

/** Reads the use and the holds of budgets in their current periods, and the changes that people made. */
@Injectable()
export class BudgetUsageService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly budgets: BudgetsService,
    private readonly live: LiveBalances,
  ) {}

  /** Budgets that are unknown or of others are left out. */
  async read(caller: Caller, ids: readonly number[]): Promise<BudgetUsage[]> {
    const rows = await this.budgets.findVisible(caller, ids);
    const current = rows.map((row) => ({ budgetId: row.id, startedAt: currentPeriod(row) }));
    const periods = await readPeriods(this.dataSource, current);
    const live = new Map(
      await Promise.all(
        [...new Set(rows.map(({ userId }) => userId))].map(
          async (userId) => [userId, await this.live.readBudgets(userId)] as const,
        ),
      ),
    );
    return rows.map((row) => toUsage(row, periods.get(row.id), live.get(row.userId)));
  }

  async entries(caller: Caller, id: number) {
    const { unit } = await this.budgets.find(caller, id);
    const rows = await readEntries(this.dataSource, id);
    const data = rows.map((row) => ({
      id: row.id,
      kind: row.kind,
      amount: writeAmount(unit, row.amount),
      period_began_at: timeOf(row.started_at),
      reason: row.reason,
      author_id: row.author_id,
      created_at: row.created_at.toISOString(),
    }));
    return { data };
  }
}

function toUsage(
  row: BudgetRow,
  period: PeriodRow | undefined,
  counted: readonly LiveBudget[] | undefined,
): BudgetUsage {
  const startedAt = currentPeriod(row);
  const written = (units: number): string => writeAmount(row.unit, units);
  const found = counted?.find((one) => one.budgetId === row.id && one.period === startedAt);
  const next = row.starts.find((start) => start > startedAt);
  const granted = period?.granted ?? 0;
  return {
    budget_id: row.id,
    period_began_at: timeOf(startedAt),
    resets_at: next === undefined ? null : timeOf(next),
    limit: written(row.amount + granted),
    used: written(period?.used ?? 0),
    granted: written(granted),
    values: row.each === null ? null : (period?.values ?? 0),
    live:
      counted && row.each === null
        ? { used: written(found?.used ?? 0), held: written(found?.held ?? 0) }
        : null,
  };
}

function timeOf(seconds: number): string | null {
  return seconds === NO_PERIOD ? null : new Date(seconds * 1_000).toISOString();
}
