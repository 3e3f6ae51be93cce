import {
  Injectable,
  Logger,
  Optional,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { USAGE_QUEUE } from '@tollgate/contracts';
import {
  LiveRecords,
  type BalanceMark,
  type SubscriptionBalance,
  type SubscriptionRef,
} from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { ifUnlocked } from '../../platform/database/advisory-hold.ts';
import { ADVISORY_LOCKS } from '../../platform/database/advisory-locks.ts';
import { BackgroundLoop } from '../../platform/background/background-loop.ts';
import { Host } from '../../platform/host/host.ts';
import { QueueBacklog } from '../../platform/queues/queue-backlog.ts';
import { openPages, positionsOf } from '../subscriptions/subscription-pages.ts';
import { hasOpenRestore } from '../restores/open-restore.ts';
import { AlteredCounts, unreadable, type Subscription } from './altered-counts.ts';
import { BalanceRepairs } from './balance-repairs.ts';
import { driftsAt, isAfter } from './drift.ts';

const EVERY_MS = 5 * 60_000;
const RETRY_MS = 30_000;
/** Between the two readings that must agree. */
const PAUSE_MS = 5_000;
/** Usage takes well under a second from Redis to PostgreSQL; with a longer backlog there is nothing to compare. */
const BOOKED_WITHIN_MS = 20_000;
const POLL_MS = 200;

/**
 * Compares every subscription's balance in Redis with the ledger while both move, and repairs what two readings agree on. Drift has causes that
 * are known (a failover that lost more than the journals repeat) and ones that are not; each is an alert.
 */
@Injectable()
export class Reconciler implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('reconciliation');
  private readonly startedAtMs: number;
  /** Repaired by this process, and not seen clean since. */
  private readonly repaired = new Set<number>();
  private isStopping = false;
  private readonly loop = new BackgroundLoop({
    everyMs: EVERY_MS,
    retryMs: RETRY_MS,
    // A process that has just started has more urgent things to do.
    work: async () =>
      void (this.host.monotonicMs() - this.startedAtMs >= EVERY_MS / 2 && (await this.runAlone())),
    onFailing: (error) => this.logger.warn(error, 'balances cannot be reconciled; trying again'),
  });

  constructor(
    private readonly dataSource: DataSource,
    private readonly records: LiveRecords,
    private readonly backlog: QueueBacklog,
    private readonly altered: AlteredCounts,
    private readonly repairs: BalanceRepairs,
    @Optional() private readonly host: Host = new Host(),
  ) {
    this.startedAtMs = host.monotonicMs();
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  onApplicationShutdown(): Promise<void> {
    this.isStopping = true;
    return this.loop.stop();
  }

  /** One round over all subscriptions, unless another replica is at it. Answers how many were repaired. */
  async runAlone({ pauseMs = PAUSE_MS } = {}): Promise<number> {
    return (await this.alone(() => this.round(pauseMs))) ?? 0;
  }

  /** Repairs those of these subscriptions whose balance in Redis is above the ledger, or was altered. Null while another replica is at it. */
  takeDown(
    used: readonly Subscription[],
    { pauseMs }: { pauseMs: number },
  ): Promise<number | null> {
    return this.alone(async () => {
      const suspects = await this.aboveLedger(used);
      return this.reconcile(suspects, pauseMs, (tokens) => tokens < 0);
    });
  }

  /** Recounts what these hold, and all that share their shards. */
  async recount(used: readonly Subscription[] | 'all'): Promise<void> {
    for (const id of await this.altered.recount(used)) this.repaired.add(id);
  }

  /** The cheap look: usage debits Redis first, so its balance is the lower one unless a credit was applied just now. The ledger is read first. */
  private async aboveLedger(used: readonly Subscription[]): Promise<Subscription[]> {
    const known = await positionsOf(
      this.dataSource,
      used.map(({ id }) => id),
    );
    const found = await Promise.all(used.map((ref) => this.balanceOf(ref)));
    return used.filter(({ id }, index) => {
      const [books, live] = [known.get(id), found[index]];
      if (!books || !live) return false;
      if (live === 'unreadable') return true;
      return live.balance > books.position || live.creditSeq > books.creditSeq;
    });
  }

  private async balanceOf(
    ref: SubscriptionRef,
  ): Promise<SubscriptionBalance | 'unreadable' | null> {
    const found = await this.records.getBalances([ref]).catch(unreadable);
    return found === 'unreadable' ? found : (found[0] ?? null);
  }

  private async alone<T>(work: () => Promise<T>): Promise<T | null> {
    const round = await ifUnlocked(this.dataSource, [ADVISORY_LOCKS.reconciliation], async () =>
      // What Redis has more or less than books from a backup is the loss, until it was read.
      (await hasOpenRestore(this.dataSource)) ? null : work(),
    );
    return round?.value ?? null;
  }

  private async round(pauseMs: number): Promise<number> {
    let repairs = 0;
    for await (const page of openPages(this.dataSource)) {
      if (this.isStopping) break;
      repairs += await this.reconcile(page, pauseMs);
    }
    await this.recount('all');
    return repairs;
  }

  private async reconcile(
    page: readonly Subscription[],
    pauseMs: number,
    isRepaired: (tokens: number) => boolean = () => true,
  ): Promise<number> {
    const { marks, altered } = await this.altered.corrected(page);
    const first = await this.read(marks);
    for (const { id } of page) if (!first.has(id) && !altered.has(id)) await this.noteClean(id);
    for (const id of altered) this.repaired.add(id);
    if (first.size === 0) return altered.size;
    await this.pause(pauseMs);
    const again = await this.altered.marks(page.filter(({ id }) => first.has(id)));
    const second = await this.read(again.readable);
    const repairs = new Set(altered);
    for (const [id, tokens] of second) {
      if (first.get(id) !== tokens || !(isRepaired(tokens) || altered.has(id))) continue;
      await this.repair(id, tokens);
      repairs.add(id);
    }
    return repairs.size;
  }

  /** Drift by subscription, for those that have one; none when usage does not reach the ledger in time. */
  private async read(marks: readonly BalanceMark[]): Promise<Map<number, number>> {
    const isSuspect = await this.drifting(marks);
    const suspects = marks.filter(({ id }) => isSuspect.has(id));
    const booked = await this.booked(suspects);
    return booked.length === 0 ? new Map() : this.drifting(booked);
  }

  private async drifting(marks: readonly BalanceMark[]): Promise<Map<number, number>> {
    const drifts = await driftsAt(this.dataSource, marks);
    return new Map(
      [...drifts]
        .filter(([, { tokens, isRepairing }]) => tokens !== 0 && !isRepairing)
        .map(([id, { tokens }]) => [id, tokens]),
    );
  }

  /** Those up to which every event is in PostgreSQL, out of the outbox and its job done; waits for it. A shard that stands still holds up no other. */
  private async booked(marks: readonly BalanceMark[]): Promise<BalanceMark[]> {
    if (marks.length === 0) return [];
    const lastOf = new Map<string, string>();
    for (const { shard, outboxId } of marks)
      if (isAfter(outboxId, lastOf.get(shard) ?? '0-0')) lastOf.set(shard, outboxId);
    const standing = new Set<string>();
    await Promise.all(
      [...lastOf].map(async ([shard, outboxId]) => {
        if (!(await this.until(() => this.isRelayed(shard, outboxId)))) standing.add(shard);
      }),
    );
    const jobs = await this.backlog.undone(USAGE_QUEUE);
    const areDone = await this.until(() => this.backlog.areDone(USAGE_QUEUE, jobs));
    return areDone ? marks.filter(({ shard }) => !standing.has(shard)) : [];
  }

  private async isRelayed(shard: string, outboxId: string): Promise<boolean> {
    const oldest = await this.records.oldestEvent(shard);
    return oldest === null || isAfter(oldest, outboxId);
  }

  private async until(look: () => Promise<boolean>): Promise<boolean> {
    const deadline = this.host.monotonicMs() + BOOKED_WITHIN_MS;
    while (!this.isStopping && this.host.monotonicMs() < deadline) {
      if (await look()) return true;
      await this.pause(POLL_MS);
    }
    return false;
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.host.after(ms, resolve));
  }

  private async repair(id: number, tokens: number): Promise<void> {
    await this.repairs.repair(id, tokens);
    this.repaired.add(id);
  }

  private async noteClean(id: number): Promise<void> {
    if (this.repaired.delete(id)) await this.repairs.noteClean(id);
  }
}
