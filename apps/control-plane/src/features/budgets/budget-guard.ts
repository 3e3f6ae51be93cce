import { Inject, Injectable } from '@nestjs/common';
import { LiveCounts, onRedisReturn, type RedisConnection } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { readBookedPeriods, type BookedPeriod, type Counted } from './budget-periods.sql.ts';

const GATHER_MS = 1_000;
const EVERY_MS = 5 * 60_000;
const PAGE = 500;
/** After an outage Redis may have lost its latest writes, which nodes repeat from their journals within this time. */
const REPEATING_MS = 30_000;

/**
 * Compares the use of budgets in Redis with the booked use: within two seconds of a booking, and for all budgets every five minutes. A settlement
 * counts in Redis before it is booked, so a count below the books was lost or altered. The guard raises it and alerts with `drift`.
 */
@Injectable()
export class BudgetGuard extends BackgroundService {
  private readonly waiting = new Map<string, Counted>();
  private comparedAllAtMs = performance.now();
  private quietUntilMs = 0;
  private stopWatching = (): void => undefined;

  constructor(
    private readonly dataSource: DataSource,
    private readonly counts: LiveCounts,
    private readonly alerts: AlertsService,
    @Inject(REDIS) private readonly redis: RedisConnection,
  ) {
    super({
      name: 'budget-guard',
      everyMs: EVERY_MS,
      retryMs: REPEATING_MS,
      failing: 'budgets cannot be compared with the ledger',
      stopsFirst: true,
    });
  }

  override onApplicationBootstrap(): void {
    this.stopWatching = onRedisReturn(this.redis, (awayMs) => {
      if (awayMs !== undefined) this.quietUntilMs = performance.now() + REPEATING_MS;
    });
    this.loop.start();
  }

  override onApplicationShutdown(): Promise<void> {
    this.stopWatching();
    return super.onApplicationShutdown();
  }

  /** Notes periods whose usage was booked now. Returns at once. */
  used(counted: readonly Counted[]): void {
    for (const one of counted) this.waiting.set(`${one.id}:${one.startedAt}:${one.value}`, one);
    if (counted.length > 0) this.loop.wakeWithin(GATHER_MS);
  }

  protected async runOnce(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs < this.quietUntilMs) return this.loop.wakeWithin(this.quietUntilMs - nowMs);
    const used = [...this.waiting].slice(0, PAGE);
    const of = used.map(([, counted]) => counted);
    await this.compare(await readBookedPeriods(this.dataSource, { of }));
    for (const [name] of used) this.waiting.delete(name);
    if (this.waiting.size > 0) this.loop.wakeWithin(GATHER_MS);
    if (nowMs - this.comparedAllAtMs >= EVERY_MS) await this.compareAll();
  }

  /** Tests call this method, too. */
  async compareAll(): Promise<void> {
    for (let after: Counted = { id: 0, startedAt: 0, value: '' }; ;) {
      const page = await readBookedPeriods(this.dataSource, { after, limit: PAGE });
      await this.compare(page);
      after = page.at(-1) ?? after;
      if (page.length < PAGE) break;
    }
    this.comparedAllAtMs = performance.now();
  }

  private async compare(booked: readonly BookedPeriod[]): Promise<void> {
    for (const { id, accountId, startedAt, value, used } of booked) {
      const name = `${id}:${startedAt}`;
      const before = await this.counts.raiseBudget({ accountId, name, value, used });
      if (before === null) continue;
      const message = `Budget ${id}: Redis counted ${before} as used, of which ${used} are booked; it has been raised`;
      this.logger.error(message);
      const detail = { kind: 'budget_used', before, used } as const;
      const subject = `budget:${id}`;
      await this.alerts.raise(this.dataSource.manager, { rule: 'drift', subject, message, detail });
    }
  }
}
