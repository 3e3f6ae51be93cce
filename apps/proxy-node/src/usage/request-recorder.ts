import type { FundsHint, UsageFinal } from '@tollgate/contracts';
import { nodeAddress, onRedisReturn, shardOf } from '@tollgate/keyspace';
import { monotonicMs } from '../monotonic-ms.ts';
import { AcknowledgedLog } from '../journal/acknowledged-log.ts';
import type { BackgroundRun, OpenHold } from '../journal/open-hold.ts';
import type { AdoptedRun, UsageRecorder, HoldHandle } from './usage-recorder.ts';
import { Checkpointer } from './checkpoints/checkpointer.ts';
import type { KeptHold } from './checkpoints/kept-hold.ts';
import { RecordedHold, type HoldEnding } from './recorded-hold.ts';
import { FailOpen } from './fail-open.ts';
import { FundsHints } from './funds-hints.ts';
import { acknowledgedLine, finalLine, toUsage } from '../journal/journal-line.ts';
import type { AdoptedRequests } from './settling/journal-adoption.ts';
import { LOCAL_DISK } from '../journal/journal-disk.ts';
import type { Journal } from '../journal/journal.ts';
import type { JournalPlace } from '../journal/live-places.ts';
import { openUplink, type JournalUplink } from './settling/journal-uplink.ts';
import { openJournals } from './open-journals.ts';
import type { FencedBy } from './metering-port.ts';
import { OpenRequests } from './open-requests.ts';
import { Relay } from './relay.ts';
import type { RecorderOptions } from './recorder-options.ts';
import { SetAsideJournals } from '../journal/set-aside-journals.ts';
import { RedisHealth } from './redis-health.ts';
import { settlingPort } from './signed-metering.ts';
import { pause, SYSTEM_TIMERS, type Clock, type Timers } from '../timers.ts';
import type { Replayed } from './settling/final-step.ts';
import { PendingFinal, Settler, type JournalledFinal } from './settling/settler.ts';

/** This many finals take about 300 MB; more would endanger the running streams. An hour without PostgreSQL at 50 requests a second fits. */
const BACKLOG_MAX = 200_000;
const REPLAY_GAP_MS = 5_000;
const CLOSE_POLL_MS = 20;
const CLOSE_CONNECTIONS_MS = 1_000;

/**
 * Records the usage of one node process: it journals, counts, checkpoints, settles and relays every admitted request and keeps it until PostgreSQL
 * has it. First it settles the requests that a predecessor left in its journal (docs/internals.md, Usage on its way).
 */
export class RequestRecorder implements UsageRecorder, HoldEnding {
  readonly failOpen: FailOpen;
  /** Holds the background runs that an earlier process left, each of which must be settled. */
  readonly adopted: AdoptedRun[] = [];
  readonly keyChanged = (keyHash: string): void => this.#checkpointer.lookAgain(keyHash);
  readonly #options: RecorderOptions;
  readonly #now: () => number;
  readonly #monotonicNow: () => number;
  readonly #timers: Timers;
  readonly #journal: Journal;
  readonly #settler: Settler;
  readonly #checkpointer: Checkpointer;
  readonly #relay: Relay;
  readonly #hints: FundsHints;
  readonly #uplink: JournalUplink;
  readonly #redis: RedisHealth;
  readonly #setAside: SetAsideJournals;
  readonly #open: OpenRequests;
  readonly #acknowledged: AcknowledgedLog;
  readonly #ending = new AbortController();
  readonly #consuming: Promise<void>;
  #replayedAtMs = Number.NEGATIVE_INFINITY;
  readonly #stopWatching: () => void;

  /** Locks and replays the journals of this DATA_DIR, then starts to settle and to relay. Throws JournalLocked while another process uses this journal. */
  static async open(options: RecorderOptions): Promise<RequestRecorder> {
    const { journal, adopted, retire } = await openJournals(options);
    const recorder = new RequestRecorder(options, journal);
    recorder.#takeOver(adopted);
    retire();
    recorder.#setAside.look();
    await recorder.#relay.start();
    return recorder;
  }

  private constructor(options: RecorderOptions, journal: Journal) {
    const { log, metering, queue, peers, shards } = options;
    const now = options.monotonicNow ?? monotonicMs;
    const timers = options.timers ?? SYSTEM_TIMERS;
    const clock = { now, random: options.random ?? Math.random, timers };
    const address = nodeAddress(options.node, options.worker);
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#monotonicNow = now;
    this.#timers = timers;
    this.#journal = journal;
    this.#open = new OpenRequests(journal, this.#now);
    this.#acknowledged = new AcknowledgedLog(journal, { now: this.#now, timers });
    journal.onCarry = (place) => this.#carry(place);
    const allowanceTokens = options.failOpenTokens ?? 0;
    this.failOpen = new FailOpen({ allowanceTokens, log, now, unixNow: this.#now });
    const relayed = { outbox: metering, queue, shards, peers, owner: address };
    this.#relay = new Relay({ ...relayed, ...clock, log });
    this.#hints = new FundsHints({ queue, log, ...clock });
    this.#setAside = new SetAsideJournals({ disk: LOCAL_DISK, ...options, timers });
    this.#redis = new RedisHealth({ ...options, timers });
    this.#uplink = openUplink(options, {
      address,
      now: this.#now,
      timers,
      onBooked: (rids) => this.#settler.booked(rids),
    });
    this.#settler = this.#openSettler(clock);
    this.#checkpointer = this.#openCheckpointer(clock, address);
    const onReturn = (): void => (this.#checkpointer.lookAgain(), this.#settler.replay());
    this.#stopWatching = onRedisReturn(options.redis, onReturn, now);
    this.#consuming = this.#consume(address);
  }

  #openCheckpointer(clock: Clock, node: string): Checkpointer {
    const { metering, log, leaseMs, rechargeWaitMs = 0 } = this.#options;
    return new Checkpointer({
      metering,
      log,
      ...clock,
      leaseMs,
      node,
      onCounted: (counts) => this.#open.noteCounts(counts),
      onRestoring: (hold, epoch) => this.#open.moveTo(hold, epoch),
      rechargeWaitMs,
      onRechargeDue: ({ accountId, modelId }) =>
        this.#hints.note({ accountId, modelId, neededTokens: 0 }),
    });
  }

  async #consume(address: string): Promise<void> {
    const { acknowledgements, blocking, log } = this.#options;
    try {
      await acknowledgements.consume(address, {
        blocking,
        signal: this.#ending.signal,
        onAcknowledged: (acknowledged) => this.#settler.acknowledge(acknowledged),
      });
    } catch (error) {
      log.error({ err: error }, 'acknowledgements are no longer read');
    }
  }

  #openSettler(clock: Clock): Settler {
    return new Settler({
      metering: settlingPort(this.#options),
      log: this.#options.log,
      ...clock,
      isReachable: () => this.#redis.isReachable,
      onAcknowledged: (final, seq) => this.#noteAcknowledged(final, seq),
      onForgotten: (final) => this.#journal.release(final.place),
      onSettled: ({ rid, accountId }) => (this.failOpen.taken(rid), this.#relay.wake(accountId)),
      onFenced: (final, by) => this.#handOver(final, by),
    });
  }

  /** Returns the figures for the node's report. */
  get state() {
    return {
      open: this.#open.size,
      unsettled: this.#settler.unsettled,
      unacknowledged: this.#settler.unacknowledged,
      isJournalWritable: this.#journal.isWritable,
      journalsSetAside: this.#setAside.count,
    };
  }

  refusal(): 'metering_unavailable' | 'redis_away' | 'backlog_full' | null {
    if (this.#ending.signal.aborted || !this.#journal.isWritable) return 'metering_unavailable';
    if (this.#settler.unacknowledged >= (this.#options.backlogMax ?? BACKLOG_MAX))
      return 'backlog_full';
    return this.#redis.refusal;
  }

  /** Is the reason for which no new request can be served, or null. */
  get unreadiness(): string | null {
    const refusal = this.refusal();
    if (refusal === null) return this.#redis.isServing ? null : 'redis_away';
    return refusal === 'redis_away' && this.failOpen.knowsAny() ? null : refusal;
  }

  endedUnsent(subscription: { accountId: number; modelId: number }): number {
    return this.#settler.unsentOf(subscription);
  }

  /** The control plane has filled a shard again: running requests restore their holds before it admits others. */
  shardFilled(shard: string, epoch: string): void {
    this.#checkpointer.filled((id) => shardOf(id, this.#options.shards) === shard, epoch);
  }

  refusedForFunds(hint: FundsHint): void {
    this.#hints.note(hint);
  }

  open(hold: OpenHold): HoldHandle {
    this.#open.admit(hold);
    return this.#checkpointer.keep(new RecordedHold(this, this.#checkpointer, hold));
  }

  noteRun(hold: OpenHold, run: BackgroundRun): void {
    this.#open.noteRun(hold, run);
  }

  settle(kept: KeptHold, final: UsageFinal, onJournalled: () => void): void {
    const { rid, epoch } = kept.hold;
    const place = this.#open.end(rid);
    if (place === undefined) return onJournalled();
    kept.release();
    this.failOpen.ended(rid, final.charge);
    const request = { rid, epoch, final, atMs: this.#now() };
    this.#journalFinal(request, () => (this.#journal.release(place), onJournalled()));
  }

  /**
   * Waits until PostgreSQL has everything, at most `timeoutMs`, then releases leases and locks. The rest stays in the journal and outbox. Call it
   * when no request runs.
   */
  async close(timeoutMs: number): Promise<void> {
    const deadline = this.#monotonicNow() + timeoutMs;
    while (this.#settler.unacknowledged > 0 && this.#monotonicNow() < deadline)
      await pause(this.#timers, CLOSE_POLL_MS);
    this.#stopWatching();
    this.#ending.abort();
    this.#checkpointer.close();
    this.#settler.close();
    this.#hints.close();
    this.#uplink.close();
    this.#redis.close();
    this.#setAside.close();
    await this.#relay.close();
    // While Redis is away neither of the two ends by itself.
    await Promise.race([
      Promise.allSettled([this.#options.queue.close(), this.#consuming]),
      pause(this.#timers, CLOSE_CONNECTIONS_MS),
    ]);
    this.#acknowledged.write();
    this.#journal.close();
  }

  /** Writes again what is still needed of an old journal file. */
  #carry(place: JournalPlace): void {
    this.#open.carry(place);
    for (const final of this.#settler.finals()) {
      if (final.place !== place) continue;
      final.place = this.#journal.appendLive(finalLine(final));
      if (this.#settler.isAcknowledged(final.rid)) this.#noteAcknowledged(final, 0);
      this.#journal.release(place);
    }
  }

  #takeOver({ finals, runs }: AdoptedRequests): void {
    for (const { hold, counts } of runs) {
      const handle = this.open(hold);
      handle.count(() => toUsage(counts));
      this.#open.noteCounts({ [hold.rid]: counts });
      this.adopted.push({ hold, handle });
    }
    // Their leases may be nearly over.
    this.#checkpointer.lookAgain();
    for (const { acknowledgedAtMs, ...final } of finals) {
      // A time of the earlier process in this clock's future counts as now.
      const agoMs = Math.max(0, this.#now() - (acknowledgedAtMs ?? 0));
      const atMs = acknowledgedAtMs === null ? null : this.#monotonicNow() - agoMs;
      this.#journalFinal(final, undefined, { isReplayed: true, acknowledgedAtMs: atMs });
      if (acknowledgedAtMs !== null)
        this.#journal.append(acknowledgedLine(acknowledgedAtMs, [[final.rid, 0]]));
    }
    // The others are booked already; they are only sent again in case Redis has lost them.
    const unbooked = finals.filter(({ acknowledgedAtMs }) => acknowledgedAtMs === null).length;
    if (unbooked > 0)
      this.#options.log.info(
        { finals: unbooked },
        'finals of an earlier process are settled from the journal',
      );
  }

  #journalFinal(
    request: JournalledFinal,
    onWritten: () => void = () => undefined,
    replayed?: Replayed,
  ): void {
    const pending = new PendingFinal(request, replayed);
    pending.place = this.#journal.appendLive(finalLine(pending), () => {
      onWritten();
      this.#settler.add(pending);
    });
  }

  /** A final of a lost epoch shows that Redis has lost more: what it seemed to have is requested again at once. */
  #handOver(final: PendingFinal, by: FencedBy): void {
    this.#uplink.offer(final);
    if (by !== 'epoch') return;
    this.#checkpointer.lost(final.epoch);
    const now = this.#monotonicNow();
    if (now - this.#replayedAtMs < REPLAY_GAP_MS) return;
    this.#replayedAtMs = now;
    this.#timers.soon(() => this.#settler.replay());
  }

  #noteAcknowledged({ rid }: PendingFinal, seq: number): void {
    this.failOpen.taken(rid);
    this.#acknowledged.note(rid, seq);
  }
}
