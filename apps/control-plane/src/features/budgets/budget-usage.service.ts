import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Caller } from '../../platform/access/caller.ts';
import type { LiveBudget } from '@tollgate/keyspace';
import { LiveBalances } from '../live-state/live-balances.ts';
import { readEntries, readPeriods, type PeriodRow } from './budget-periods.sql.ts';
import type { BudgetRow } from './budget.entity.ts';
import { writeAmount, type BudgetUsage } from './budgets.dto.ts';
import { BudgetsService, countedNow } from './budgets.service.ts';
import { leavesAt, NO_PERIOD } from './calendar.ts';

/** Reads the use and the holds of budgets in their current periods, and the changes that people made. */
@Injectable()
export class BudgetUsageService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly budgets: BudgetsService,
    private readonly live: LiveBalances,
  ) {}

  /** Reads the usage of budgets; skips unknown budgets and those of other accounts. */
  async read(caller: Caller, ids: readonly number[]): Promise<BudgetUsage[]> {
    const rows = await this.budgets.findVisible(caller, ids);
    const counted = rows.map((row) => ({ budgetId: row.id, countedFrom: countedNow(row) }));
    const periods = await readPeriods(this.dataSource, counted);
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
  const from = countedNow(row);
  const written = (units: number): string => writeAmount(row.unit, units);
  const found = (counted ?? []).filter((one) => one.budgetId === row.id && one.period >= from);
  const sumOf = (part: 'used' | 'held'): string =>
    written(found.reduce((sum, one) => sum + one[part], 0));
  const granted = period?.granted ?? 0;
  return {
    budget_id: row.id,
    period_began_at: timeOf(from),
    resets_at: resetOf(row, from, period),
    limit: written(row.amount + granted),
    used: written(period?.used ?? 0),
    granted: written(granted),
    values: row.each === null ? null : (period?.values ?? 0),
    live:
      counted && row.of === 'usage' && row.each === null
        ? { used: sumOf('used'), held: sumOf('held') }
        : null,
  };
}

/** Returns when the next period begins, or when the oldest use leaves the window. */
function resetOf(
  { starts, windowMinutes }: BudgetRow,
  from: number,
  period: PeriodRow | undefined,
): string | null {
  if (windowMinutes !== null) {
    const usedFrom = period?.used_from ?? null;
    return usedFrom === null ? null : timeOf(leavesAt(usedFrom, windowMinutes));
  }
  const next = starts.find((start) => start > from);
  return next === undefined ? null : timeOf(next);
}

function timeOf(seconds: number): string | null {
  return seconds === NO_PERIOD ? null : new Date(seconds * 1_000).toISOString();
}
