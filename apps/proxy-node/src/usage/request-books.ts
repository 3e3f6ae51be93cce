import { setTimeout as delay } from 'node:timers/promises';
import type { UsageFinal } from '@tollgate/contracts';
import { isRedisReachable, nodeAddress, onRedisReturn } from '@tollgate/keyspace';
import { monotonicMs } from '../monotonic-ms.ts';
import type { Books, HoldHandle, OpenHold } from './books.ts';
import { Checkpointer } from './checkpointer.ts';
import { FailOpen } from './fail-open.ts';
import { FundsHints, type FundsHint } from './funds-hints.ts';
import { journalFolder } from './journal-files.ts';
import { acknowledgedLine, finalLine } from './journal-line.ts';
import { adoptJournals, type AdoptedRequests } from './journal-adoption.ts';
import { Journal, type JournalPlace } from './journal.ts';
import { JournalUplink } from './journal-uplink.ts';
import { OpenRequests } from './open-requests.ts';
import { Relay } from './relay.ts';
import type { RequestBooksOptions } from './request-books-options.ts';
import { StoreRoom } from './store-room.ts';
import { signedMetering } from './signed-metering.ts';
import { Settler, type FencedBy, type PendingFinal } from './settler.ts';

/** About 300 MB of finals; more would endanger the running streams. An hour without PostgreSQL at 50 requests a second fits. */
const BACKLOG_MAX = 200_000;
const REPLAY_GAP_MS = 5_000;
const CLOSE_POLL_MS = 20;
const CLOSE_CONNECTIONS_MS = 1_000;

/**
 * The books of one node process: every admitted request is journalled, counted, checkpointed, settled, relayed and kept until PostgreSQL has it.
 * What a predecessor left in its journal is settled first thing (docs/internals.md, Usage on its way).
 */
export class RequestBooks implements Books {
  readonly failOpen: FailOpen;
  readonly #options: RequestBooksOptions;
  readonly #now: () => number;
  readonly #monotonicNow: () => number;
  readonly #journal: Journal;
  readonly #settler: Settler;
  readonly #checkpointer: Checkpointer;
  readonly #relay: Relay;
  readonly #hints: FundsHints;
  readonly #uplink: JournalUplink;
  readonly #room: StoreRoom;
  readonly #open: OpenRequests;
  #acknowledged: [rid: string, seq: number][] = [];
  readonly #ending = new AbortController();
  readonly #consuming: Promise<void>;
  #replayedAtMs = Number.NEGATIVE_INFINITY;
  readonly #stopWatching: () => void;

  /** Locks and replays the journals of this DATA_DIR, then starts to settle and to relay. Throws JournalLocked while another process uses this journal. */
  static async open(options: RequestBooksOptions): Promise<RequestBooks> {
    const folder = journalFolder(options.dataDir, options);
    const opened = await Journal.open({ folder, log: options.log });
    const address = nodeAddress(options.node, options.worker);
    const adopted = await adoptJournals({
      own: opened.replay,
      dataDir: options.dataDir,
      folder,
      worker: options.worker,
      address,
      log: options.log,
      now: options.now ?? Date.now,
    });
    const books = new RequestBooks(options, opened.journal);
    books.#takeOver(adopted);
    try {
      opened.retire();
      adopted.retire();
    } catch (error) {
      // The disk is full: no request is let in until it is not, and the next start replays the same files, which changes nothing.
      options.log.error({ error }, 'earlier journals stay until they could be written anew');
    }
    await books.#relay.start();
    return books;
  }

  private constructor(options: RequestBooksOptions, journal: Journal) {
    const { log, metering, leaseMs, queue, peers, shards } = options;
    const now = options.monotonicNow ?? monotonicMs;
    const random = options.random ?? Math.random;
    const address = nodeAddress(options.node, options.worker);
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#monotonicNow = now;
    this.#journal = journal;
    this.#open = new OpenRequests(journal, this.#now);
    journal.onCarry = (place) => this.#carry(place);
    this.failOpen = new FailOpen({
      allowanceTokens: options.failOpenTokens ?? 0,
      log,
      now,
      unixNow: this.#now,
    });
    this.#relay = new Relay({
      outbox: metering,
      queue,
      shards,
      owner: address,
      peers,
      log,
      now,
      random,
    });
    this.#hints = new FundsHints({ queue, log, now });
    this.#room = new StoreRoom({ memoryUse: options.memoryUse ?? (() => Promise.resolve(0)), log });
    this.#uplink = new JournalUplink({
      controlPlaneUrl: options.controlPlaneUrl,
      credential: options.credential ?? '',
      node: address,
      log,
      now: this.#now,
      onBooked: (rids) => this.#settler.booked(rids),
    });
    this.#settler = new Settler({
      metering: signedMetering(metering, options.credential),
      log,
      now,
      random,
      onAcknowledged: (final, seq) => this.#noteAcknowledged(final, seq),
      onForgotten: (final) => journal.release(final.place),
      onSettled: ({ rid, final }) => {
        this.failOpen.taken(rid);
        this.#relay.wake(final.account_id);
      },
      onFenced: (final, by) => this.#handOver(final, by),
    });
    this.#checkpointer = new Checkpointer({
      metering,
      log,
      now,
      random,
      leaseMs,
      node: address,
      onCounted: (counts) => this.#open.noteCounts(counts),
      onRestoring: (hold, epoch) => this.#open.moveTo(hold, epoch),
    });
    this.#stopWatching = onRedisReturn(options.redis, () => this.#settler.replay());
    this.#consuming = options.acknowledgements
      .consume(address, {
        blocking: options.blocking,
        signal: this.#ending.signal,
        onAcknowledged: (acknowledgements) => this.#settler.acknowledge(acknowledgements),
      })
      .catch((error: unknown) => log.error({ error }, 'acknowledgements are no longer read'));
  }

  /** For the node's report. */
  get state(): {
    open: number;
    unsettled: number;
    unacknowledged: number;
    isJournalWritable: boolean;
  } {
    return {
      open: this.#open.size,
      unsettled: this.#settler.unsettled,
      unacknowledged: this.#settler.unacknowledged,
      isJournalWritable: this.#journal.isWritable,
    };
  }

  refusal(): 'metering_unavailable' | 'redis_away' | 'backlog_full' | null {
    if (this.#ending.signal.aborted || !this.#journal.isWritable) return 'metering_unavailable';
    if (this.#settler.unacknowledged >= (this.#options.backlogMax ?? BACKLOG_MAX))
      return 'backlog_full';
    if (!isRedisReachable(this.#options.redis)) return 'redis_away';
    return this.#room.isFull ? 'backlog_full' : null;
  }

  /** Why no new request at all can be served, or null. */
  get unreadiness(): string | null {
    const refusal = this.refusal();
    return refusal === 'redis_away' && this.failOpen.knowsAny() ? null : refusal;
  }

  refusedForFunds(subscription: FundsHint): void {
    this.#hints.note(subscription);
  }

  open(hold: OpenHold): HoldHandle {
    this.#open.admit(hold);
    const kept = this.#checkpointer.keep(hold);
    return {
      count: kept.count,
      room: kept.room,
      isBoundHeld: kept.isBoundHeld,
      grow: kept.grow,
      onStop: kept.onStop,
      settle: (final) => {
        const place = this.#open.end(hold.rid);
        if (place === undefined) return;
        kept.release();
        this.failOpen.ended(hold.rid, final.charge);
        this.#journalFinal({ rid: hold.rid, epoch: hold.epoch, final, atMs: this.#now() });
        // Not at the end of the tick: the client gets the end of its answer next, and must not know more than the journal.
        this.#journal.flush();
        this.#journal.release(place);
      },
    };
  }

  /**
   * Waits until PostgreSQL has everything, at most `timeoutMs`, then gives leases and locks back. What is left stays in the journal and outbox.
   * Call it when no request is running any more.
   */
  async close(timeoutMs: number): Promise<void> {
    const deadline = this.#monotonicNow() + timeoutMs;
    while (this.#settler.unacknowledged > 0 && this.#monotonicNow() < deadline)
      await delay(CLOSE_POLL_MS);
    this.#stopWatching();
    this.#ending.abort();
    this.#checkpointer.close();
    this.#settler.close();
    this.#hints.close();
    this.#uplink.close();
    this.#room.close();
    await this.#relay.close();
    // While Redis is away neither of the two ends by itself.
    await Promise.race([
      Promise.allSettled([this.#options.queue.close(), this.#consuming]),
      delay(CLOSE_CONNECTIONS_MS, undefined, { ref: false }),
    ]);
    this.#writeAcknowledged();
    this.#journal.close();
  }

  /** Writes again what still lives in an old journal file. */
  #carry(place: JournalPlace): void {
    this.#open.carry(place);
    for (const final of this.#settler.finals()) {
      if (final.place !== place) continue;
      final.place = this.#journal.appendLive(finalLine(final));
      if (this.#settler.isAcknowledged(final.rid)) this.#noteAcknowledged(final, 0);
      this.#journal.release(place);
    }
  }

  #takeOver({ finals }: AdoptedRequests): void {
    for (const { acknowledgedAtMs, ...final } of finals) {
      this.#journalFinal(final, {
        isReplayed: true,
        acknowledgedAtMs: acknowledgedAtMs === null ? null : this.#toMonotonic(acknowledgedAtMs),
      });
      if (acknowledgedAtMs !== null)
        this.#journal.append(acknowledgedLine(acknowledgedAtMs, [[final.rid, 0]]));
    }
    // The others are in the books already; they are only said again in case Redis has lost them.
    const unbooked = finals.filter(({ acknowledgedAtMs }) => acknowledgedAtMs === null).length;
    if (unbooked > 0)
      this.#options.log.info(
        { finals: unbooked },
        'finals of an earlier process are settled from the journal',
      );
  }

  /** Of a moment that an earlier process wrote down; one that lies ahead of this clock was just now. */
  #toMonotonic(unixMs: number): number {
    return this.#monotonicNow() - Math.max(0, this.#now() - unixMs);
  }

  #journalFinal(
    request: { rid: string; epoch: string; final: UsageFinal; atMs: number },
    replayed?: { isReplayed: true; acknowledgedAtMs: number | null },
  ): void {
    const payload = JSON.stringify(request.final);
    const pending: PendingFinal = { ...request, payload, place: 0 };
    pending.place = this.#journal.appendLive(finalLine({ ...request, payload }), () =>
      this.#settler.add(pending, replayed),
    );
  }

  /** A final of an epoch that is gone is a sign that Redis has lost more: what it seemed to have is asked for again, not only after its time. */
  #handOver(final: PendingFinal, by: FencedBy): void {
    this.#uplink.offer(final);
    if (by !== 'epoch') return;
    this.#checkpointer.lost(final.epoch);
    const now = this.#monotonicNow();
    if (now - this.#replayedAtMs < REPLAY_GAP_MS) return;
    this.#replayedAtMs = now;
    setImmediate(() => this.#settler.replay());
  }

  #noteAcknowledged({ rid }: PendingFinal, seq: number): void {
    this.failOpen.taken(rid);
    if (this.#acknowledged.push([rid, seq]) === 1) setImmediate(() => this.#writeAcknowledged());
  }

  #writeAcknowledged(): void {
    if (this.#acknowledged.length === 0) return;
    this.#journal.append(acknowledgedLine(this.#now(), this.#acknowledged));
    this.#acknowledged = [];
  }
}
