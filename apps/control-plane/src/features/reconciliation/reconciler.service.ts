import { Injectable, Optional, type OnModuleDestroy } from '@nestjs/common';
import {
  LiveRecords,
  type BalanceMark,
  type SubscriptionBalance,
  type SubscriptionRef,
} from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { ifUnlocked } from '../../platform/database/advisory-hold.ts';
import { ADVISORY_LOCKS } from '../../platform/database/advisory-locks.ts';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { Host } from '../../platform/host/host.ts';
import { openPages, positionsOf } from '../subscriptions/read-subscriptions.sql.ts';
import { hasOpenRestore } from '../restores/read-restores.sql.ts';
import { AlteredCounts, type Subscription } from './altered-counts.ts';
import { BalanceRepairs } from './balance-repairs.ts';
import { driftsAt, isStrange } from './drift.sql.ts';
import { LostReaps } from './lost-reaps.ts';
import { unreadable } from './unreadable.ts';
import { UsageArrival } from './usage-arrival.ts';
import { WrongTypes } from './wrong-types.ts';

const EVERY_MS = 5 * 60_000;
const RETRY_MS = 30_000;
/** Is the pause between the two readings that must agree, in ms. */
const PAUSE_MS = 5_000;
/** Is the pause between the two readings where a person waits for the result. */
const SHORT_PAUSE_MS = 1_000;
/** A single subscription waits at most this long for a round of another replica, and for usage that does not arrive. */
const COMPARED_WITHIN_MS = 20_000;
const TURN_MS = 200;

interface Compared {
  /** Maps subscriptions to their drift, where they have one. */
  drifts: ReadonlyMap<number, number>;
  /** Lists the compared subscriptions that agree with the ledger. */
  clean: readonly number[];
}

/**
 * Compares every subscription's balance in Redis with the ledger while both change, and repairs a difference that two readings agree on. Some causes
 * of drift are known (a failover that lost more than the journals repeat) and others are not; each raises an alert.
 */
@Injectable()
export class Reconciler extends BackgroundService implements OnModuleDestroy {
  private readonly startedAtMs: number;
  /** Holds subscriptions that this process repaired and has not seen without drift since. */
  private readonly repaired = new Set<number>();
  constructor(
    private readonly dataSource: DataSource,
    private readonly records: LiveRecords,
    private readonly arrival: UsageArrival,
    private readonly reaps: LostReaps,
    private readonly altered: AlteredCounts,
    private readonly repairs: BalanceRepairs,
    private readonly types: WrongTypes,
    @Optional() private readonly host: Host = new Host(),
  ) {
    super({
      name: 'reconciliation',
      everyMs: EVERY_MS,
      retryMs: RETRY_MS,
      failing: 'balances cannot be reconciled; trying again',
    });
    this.startedAtMs = host.monotonicMs();
  }

  // The first round waits one interval, because a process that has just started has more urgent work.
  protected async runOnce(): Promise<void> {
    if (this.host.monotonicMs() - this.startedAtMs >= EVERY_MS / 2) await this.runAlone();
  }

  /** Stops before all others: a wait for booked usage would not end, because workers stop too. */
  onModuleDestroy(): void {
    this.arrival.end();
  }

  /** Runs one round over all subscriptions unless another replica does. Returns how many were repaired. */
  async runAlone({ pauseMs = PAUSE_MS } = {}): Promise<number> {
    return (await this.alone(() => this.round(pauseMs))) ?? 0;
  }

  /**
   * Repairs those of these subscriptions whose balance in Redis is above the ledger, or whose record was altered. Returns null while another replica
   * runs a round.
   */
  async takeDown(
    used: readonly Subscription[],
    { pauseMs }: { pauseMs: number },
  ): Promise<number | null> {
    const suspects = await this.aboveLedger(used);
    if (suspects.length === 0) return 0;
    return this.alone(() => this.reconcile(suspects, pauseMs, (tokens) => tokens < 0));
  }

  /**
   * Repairs this subscription now, in both directions, so that Redis with its pending credits agrees with the ledger. Returns false when it was not
   * compared in time: its usage does not arrive, another round does not end, a restore is open, or it is being closed.
   */
  async compare(subscription: Subscription): Promise<boolean> {
    const deadline = this.host.monotonicMs() + COMPARED_WITHIN_MS;
    while (!this.arrival.isEnded) {
      if (await this.alone(() => this.isEqual(subscription))) return true;
      if (this.host.monotonicMs() >= deadline) return false;
      await this.arrival.pause(TURN_MS);
    }
    return false;
  }

  private async isEqual(subscription: Subscription): Promise<boolean> {
    if (!(await positionsOf(this.dataSource, [subscription.id])).has(subscription.id)) return false;
    await this.reconcile([subscription], SHORT_PAUSE_MS);
    const { readable, unreadable } = await this.altered.marks([subscription]);
    const { clean } = await this.read(readable);
    // No tokens can be taken in Redis where there is no record.
    return unreadable.length === 0 && readable.every(({ id }) => clean.includes(id));
  }

  /** Recounts what these subscriptions hold, and all in the same shards. */
  async recount(used: readonly Subscription[] | 'all'): Promise<void> {
    for (const id of await this.altered.recount(used)) this.repaired.add(id);
  }

  /**
   * Finds balances above the ledger at low cost: usage debits Redis first, so its balance is the lower one unless a credit was applied just now. The
   * ledger is read first.
   */
  private async aboveLedger(used: readonly Subscription[]): Promise<Subscription[]> {
    const known = await positionsOf(
      this.dataSource,
      used.map(({ id }) => id),
    );
    const found = await Promise.all(used.map((ref) => this.balanceOf(ref)));
    return used.filter(({ id }, index) => {
      const [books, live] = [known.get(id), found[index]];
      if (!books || !live) return false;
      if (live === 'unreadable' || live.id !== id || isStrange(live, books)) return true;
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
      // After a restore from a backup, Redis differs by the usage that the books have lost, until that has been read.
      (await hasOpenRestore(this.dataSource)) ? null : work(),
    );
    return round?.value ?? null;
  }

  private async round(pauseMs: number): Promise<number> {
    let repairs = 0;
    // Wrong types come first, because nothing else can be read where such a key is.
    await this.types.repairShards();
    const sent = await this.reaps.sendAgain();
    for await (const page of openPages(this.dataSource)) {
      if (this.arrival.isEnded) return repairs;
      await this.types.repairAccounts(page);
      repairs += await this.reconcile(page, pauseMs);
    }
    for (const id of sent) this.repaired.add(id);
    await this.recount('all');
    return repairs;
  }

  private async reconcile(
    page: readonly Subscription[],
    pauseMs: number,
    isRepaired: (tokens: number) => boolean = () => true,
  ): Promise<number> {
    const { marks, altered } = await this.altered.corrected(page);
    const { drifts: first, clean } = await this.read(marks);
    for (const id of clean) if (!altered.has(id)) await this.noteClean(id);
    await this.altered.vouch(marks.filter(({ id }) => clean.includes(id)));
    for (const id of altered) this.repaired.add(id);
    if (first.size === 0) return altered.size;
    await this.arrival.pause(pauseMs);
    const again = await this.altered.marks(page.filter(({ id }) => first.has(id)));
    const second = await this.read(again.readable);
    const repairs = new Set(altered);
    for (const [id, tokens] of second.drifts) {
      if (first.get(id) !== tokens || !(isRepaired(tokens) || altered.has(id))) continue;
      await this.repair(id, tokens);
      repairs.add(id);
    }
    return repairs.size;
  }

  /** Compares those whose usage reaches the ledger in time. */
  private async read(marks: readonly BalanceMark[]): Promise<Compared> {
    const isSuspect = await this.drifting(marks);
    const [suspects, clean] = [true, false].map((is) =>
      marks.filter(({ id }) => isSuspect.has(id) === is),
    ) as [BalanceMark[], BalanceMark[]];
    const arrived = await this.arrival.upTo(suspects);
    const drifts = arrived.length === 0 ? new Map<number, number>() : await this.drifting(arrived);
    const compared = [...clean, ...arrived].map(({ id }) => id);
    return { drifts, clean: compared.filter((id) => !drifts.has(id)) };
  }

  private async drifting(marks: readonly BalanceMark[]): Promise<Map<number, number>> {
    const drifts = await driftsAt(this.dataSource, marks);
    return new Map(
      [...drifts]
        .filter(([, { tokens, isRepairing }]) => tokens !== 0 && !isRepairing)
        .map(([id, { tokens }]) => [id, tokens]),
    );
  }

  private async repair(id: number, tokens: number): Promise<void> {
    await this.repairs.repair(id, tokens);
    this.repaired.add(id);
  }

  private async noteClean(id: number): Promise<void> {
    if (this.repaired.delete(id)) await this.repairs.noteClean(id);
  }
}
