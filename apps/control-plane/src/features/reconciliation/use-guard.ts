import { Inject, Injectable } from '@nestjs/common';
import type { UsageFinal } from '@tollgate/contracts';
import { onRedisReturn, type RedisConnection, type SubscriptionRef } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { DomainEvents } from '../../platform/domain-events/domain-events.ts';
import { FunctionsReplaced } from '../../platform/redis/library-keeper.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { LiveRecordAudit, type KeyUse } from '../live-state/live-record-audit.ts';
import { RedisAhead } from '../live-state/live-facts.ts';
import { Reconciler } from './reconciler.service.ts';

const RETRY_MS = 1_000;
/** One turn checks at most this many; the others wait for the next. The five-minute reconciliation finds what does not fit here. */
const TURN_MAX = 200;
const WAITING_MAX = 50_000;
/** After an outage Redis may have lost its latest writes, which nodes repeat from their journals. Until then balances are too high without an attack. */
const REPEATING_MS = 30_000;
const EVERY_MS = 60_000;
const FORGERY = { rule: 'redis_tampered', subject: 'records' } as const;

type Used = SubscriptionRef & { id: number };

/**
 * Compares recently used balances with the ledger. A balance in Redis above the ledger is lowered within seconds (alert `drift`), and a live record
 * of a key or account that differs from its row is rewritten (alert `redis_tampered`). An attacker who can write Redis gains seconds of use and is
 * detected.
 */
@Injectable()
export class UseGuard extends BackgroundService {
  /**
   * Used subscriptions and keys are collected for gatherMs and checked together. pauseMs passes between the two readings that must agree. Held tokens
   * are counted at most every countEveryMs.
   */
  pace = { gatherMs: 1_000, pauseMs: 1_000, countEveryMs: 3_000 };
  private readonly subscriptions = new Map<number, Used>();
  private readonly uncounted = new Map<number, Used>();
  private readonly keys = new Map<string, KeyUse>();
  private quietUntilMs = 0;
  private countedAtMs = Number.NEGATIVE_INFINITY;
  private stopWatching = (): void => undefined;
  constructor(
    private readonly dataSource: DataSource,
    private readonly reconciler: Reconciler,
    private readonly audit: LiveRecordAudit,
    private readonly alerts: AlertsService,
    @Inject(REDIS) private readonly redis: RedisConnection,
    events: DomainEvents,
  ) {
    super({
      name: 'use-guard',
      everyMs: EVERY_MS,
      retryMs: RETRY_MS,
      failing: 'used balances cannot be compared with the ledger',
    });
    events.on(FunctionsReplaced, ({ libraries }) =>
      this.note(libraries.map((library) => `functions in place of library ${library}`)),
    );
    events.on(RedisAhead, ({ subscription }) => this.doubted(subscription));
  }

  override onApplicationBootstrap(): void {
    this.stopWatching = onRedisReturn(this.redis, (awayMs) => {
      // The first connection of a process follows no known outage; the regular reconciliation waits as well.
      if (awayMs !== undefined) this.quietUntilMs = performance.now() + REPEATING_MS;
    });
    this.loop.start();
  }

  override onApplicationShutdown(): Promise<void> {
    this.stopWatching();
    return super.onApplicationShutdown();
  }

  /** Notes finals that were booked now. Returns at once. */
  used(finals: readonly UsageFinal[]): void {
    for (const final of finals) {
      if (Math.max(this.uncounted.size, this.subscriptions.size, this.keys.size) >= WAITING_MAX)
        break;
      const { subscription_id: id, account_id: accountId, model_id: modelId } = final;
      const { key_id: keyId, key_hash: keyHash } = final;
      const used = { id, accountId, modelId };
      if (!this.subscriptions.has(id)) this.subscriptions.set(id, used);
      if (!this.uncounted.has(id)) this.uncounted.set(id, used);
      const key = `${accountId}:${keyId}:${keyHash}`;
      if (!this.keys.has(key)) this.keys.set(key, { accountId, keyId, keyHash });
    }
    if (finals.length > 0) this.loop.wakeWithin(this.pace.gatherMs);
  }

  /** Requests a comparison although no usage was booked. */
  private doubted(subscription: Used): void {
    if (this.subscriptions.size >= WAITING_MAX) return;
    this.subscriptions.set(subscription.id, subscription);
    this.loop.wakeWithin(this.pace.gatherMs);
  }

  protected async runOnce(): Promise<void> {
    const failures: unknown[] = [];
    const checks = [() => this.checkKeys(), () => this.checkHolds(), () => this.checkBalances()];
    // Every check runs even when another fails, so that a failure does not hide the findings of others.
    for (const check of checks) await check().catch((error: unknown) => void failures.push(error));
    if (failures.length > 0) throw failures[0];
    if (this.subscriptions.size + this.uncounted.size + this.keys.size > 0)
      this.loop.wakeWithin(this.pace.gatherMs);
  }

  private async checkKeys(): Promise<void> {
    const uses = [...this.keys].slice(0, TURN_MAX);
    if (uses.length === 0) return;
    const isRepeating = performance.now() < this.quietUntilMs;
    const found = await this.audit.check(
      uses.map(([, use]) => use),
      { isRepeating },
    );
    for (const [key] of uses) this.keys.delete(key);
    await this.note(found);
  }

  private async note(found: readonly string[]): Promise<void> {
    if (found.length === 0) return;
    const message = `Redis contained records that the control plane did not write: ${found.slice(0, 10).join('; ')}; they are rewritten`;
    this.logger.error(message);
    const detail = { kind: 'records', records: found } as const;
    await this.alerts.raise(this.dataSource.manager, { ...FORGERY, message, detail });
  }

  private async checkBalances(): Promise<void> {
    const used = [...this.subscriptions.values()].slice(0, TURN_MAX);
    if (used.length === 0 || performance.now() < this.quietUntilMs) return;
    const repairs = await this.reconciler.takeDown(used, { pauseMs: this.pace.pauseMs });
    if (repairs === null) return;
    for (const { id } of used) this.subscriptions.delete(id);
  }

  /** Checks holds at once: holds and their counts are lost together, so this does not wait for nodes that repeat. One check reads all open holds of a shard. */
  private async checkHolds(): Promise<void> {
    if (performance.now() - this.countedAtMs < this.pace.countEveryMs) return;
    const used = [...this.uncounted.values()].slice(0, TURN_MAX);
    if (used.length === 0) return;
    await this.reconciler.recount(used);
    for (const { id } of used) this.uncounted.delete(id);
    this.countedAtMs = performance.now();
  }
}
