import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LiveRecords } from '@tollgate/keyspace';
import { DataSource, IsNull, MoreThan, Repository, type EntityManager } from 'typeorm';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import { dropPeriods, isShared, readPeriods } from './budget-periods.sql.ts';
import { BudgetRow } from './budget.entity.ts';
import { countedNow, PERIODS_AHEAD } from './budgets.service.ts';
import { countedFrom, periodStarts } from './calendar.ts';

const LOOK_EVERY_MS = 60 * 60_000;
/** A live record with fewer periods ahead than this gets new ones. */
const PERIODS_LEFT_MIN = 16;
const PAGE = 500;
/** The last request of a period has ended, or was reaped, long before this. */
const ENDED_FOR_S = 2 * 86_400;
/** Covers the longest period of sessions and end users, and one more period for corrections. */
const VALUES_KEPT_S = 94 * 86_400;
/** Corrections of a request come within this time. */
const BUCKETS_KEPT_S = 3 * 86_400;

/** Keeps the periods of every budget known far ahead, and resolves the alerts of periods that have ended. */
@Injectable()
export class BudgetCalendar extends BackgroundService {
  constructor(
    @InjectRepository(BudgetRow) private readonly rows: Repository<BudgetRow>,
    private readonly transactions: Transactions,
    private readonly liveState: LiveStateService,
    private readonly records: LiveRecords,
    private readonly alerts: AlertsService,
    private readonly dataSource: DataSource,
  ) {
    super({
      name: 'budgets',
      everyMs: LOOK_EVERY_MS,
      failing: 'the periods of budgets cannot be continued; trying again in an hour',
      stopsFirst: true,
    });
  }

  protected runOnce(): Promise<void> {
    return this.continueAll(Date.now());
  }

  /** Tests call this method, too. */
  async continueAll(atMs: number): Promise<void> {
    await this.resolveAlerts();
    await dropPeriods(this.dataSource, {
      valuesKeptS: VALUES_KEPT_S,
      bucketsKeptS: BUCKETS_KEPT_S,
    });
    for (let afterId = 0; ;) {
      const rows = await this.rows.find({
        where: { id: MoreThan(afterId), deletedAt: IsNull() },
        order: { id: 'ASC' },
        take: PAGE,
      });
      for (const row of rows) {
        if (isRunningOut(row, atMs)) await this.continue(row.id, atMs);
        if (row.windowMinutes !== null && row.each === null) await this.forgetBuckets(row, atMs);
      }
      afterId = rows.at(-1)?.id ?? 0;
      if (rows.length < PAGE) return;
    }
  }

  private async continue(id: number, atMs: number): Promise<void> {
    const ended = await this.transactions.run(async (tx) => {
      const repository = tx.getRepository(BudgetRow);
      const row = await repository.findOne({
        where: { id, deletedAt: IsNull() },
        lock: { mode: 'pessimistic_write' },
      });
      if (!row || !isRunningOut(row, atMs)) return [];
      const current = periodOf(row, atMs);
      const [, ...next] = periodStarts(row, { atMs, count: PERIODS_AHEAD });
      const starts = [current, ...next.filter((start) => start > current)];
      await repository.save({ ...row, starts, updatedAt: new Date(atMs) });
      await this.liveState.budgetsChanged(tx, row);
      const over = row.starts.filter((start, index) => {
        const end = row.starts[index + 1];
        return start < current && end !== undefined && end < atMs / 1_000 - ENDED_FOR_S;
      });
      return over.map((start) => ({ userId: row.userId, name: `${id}:${start}` }));
    });
    for (const { userId, name } of ended) await this.records.budgets.forget(userId, [name]);
  }

  /** Redis removes the buckets of busy budgets itself. */
  private async forgetBuckets(row: BudgetRow, atMs: number): Promise<void> {
    const ended = countedFrom(row, Math.floor(atMs / 1_000)) - ENDED_FOR_S;
    await this.records.budgets.forgetBefore(row.userId, row.id, ended);
  }

  /** Resolves an alert of a budget when its period has ended or its amount was raised. */
  private resolveAlerts(): Promise<void> {
    return this.transactions.run(async (tx) => {
      for (const rule of ['budget_threshold', 'budget_exhausted'] as const)
        for (const { subject } of await this.alerts.openOf(tx, rule))
          if (!(await this.isReached(tx, subject)))
            await this.alerts.resolve(tx, { rule, subject });
      await this.resolveShared(tx);
    });
  }

  private async resolveShared(tx: EntityManager): Promise<void> {
    const rule = 'budget_shared';
    for (const { subject } of await this.alerts.openOf(tx, rule)) {
      const id = Number(subject.split(':')[1]);
      const row = await tx.getRepository(BudgetRow).findOneBy({ id, deletedAt: IsNull() });
      if (!row || !(await isShared(tx, { budgetId: id, countedFrom: countedNow(row) })))
        await this.alerts.resolve(tx, { rule, subject });
    }
  }

  /** `subject` is `budget:<id>:<percent>`, followed by `:<period>` where the budget is not rolling. */
  private async isReached(tx: EntityManager, subject: string): Promise<boolean> {
    const [, id = 0, percent = 0, startedAt] = subject.split(':').map(Number);
    const row = await tx.getRepository(BudgetRow).findOneBy({ id, deletedAt: IsNull() });
    if (!row || (startedAt !== undefined && startedAt < countedNow(row))) return false;
    const periods = await readPeriods(tx, [{ budgetId: id, countedFrom: countedNow(row) }]);
    const period = periods.get(id);
    return period !== undefined && period.used * 100 >= percent * (row.amount + period.granted);
  }
}

function isRunningOut(row: BudgetRow, atMs: number): boolean {
  if (row.period === 'none' || row.period === 'rolling') return false;
  return row.starts.filter((start) => start > atMs / 1_000).length < PERIODS_LEFT_MIN;
}

function periodOf({ starts }: BudgetRow, atMs: number): number {
  return starts.findLast((start) => start <= atMs / 1_000) ?? starts[0] ?? 0;
}
