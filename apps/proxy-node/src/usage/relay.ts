import type { RelayedEvent } from '@tollgate/contracts';
import { shardNames, type RelayBatch } from '@tollgate/keyspace';
import type { RelayOptions } from './relay-options.ts';
import { SYSTEM_TIMERS, type Timers } from '../timers.ts';

const LEASE_MS = 10_000;
/**
 * All shards are checked on one beat, so that the events of many shards become one job and one transaction: at a hundred requests a second, jobs of
 * one event cost all processes ten times as much CPU. An outbox with more than one check may read is checked again at once.
 */
const BEAT_MS = 250;
/** A leased shard without events is checked at this interval, because another node may settle in it. */
const POLL_MAX_MS = 750;
/** This is the interval without another node: this node wakes the shard itself. Expired holds are also searched. */
const POLL_MAX_ALONE_MS = 2_000;
/** Is the interval at which this node tries a shard that another node should relay, in case no node does. */
const FALLBACK_MS = 30_000;
const FALLBACK_KEEP_MS = 10_000;
const RETRY_MS = 1_000;
const PEERS_INTERVAL_MS = 5_000;
/** A job has at most this many events of a beat. One job per event costs 37.9 Redis commands, a batch of 200 costs 0.18 each. */
const BATCH_EVENTS_MAX = 200;
/** Items that were read wait at most this long for a shard that does not answer. */
const BATCH_WAIT_MS = 40;
const BATCH_BYTES_MAX = 512 * 1024;
const EXPIRED_HOLDS_MAX = 100;

interface Shard {
  readonly name: string;
  readonly index: number;
  isLeased: boolean;
  isBusy: boolean;
  pollMs: number;
  nextAtMs: number;
  /** A lease that was taken as a fallback is kept until then. */
  keepUntilMs: number;
  /** Lists the ids of events that are safely in the queue, to be deleted from the outbox with the next poll. */
  relayedIds: string[];
  /** Is true when the last read left entries in the outbox. */
  hasMore: boolean;
}

/**
 * Moves events from the shards' outboxes into BullMQ. Each shard has one relay at a time, by lease. Entries leave the outbox only after the job is in
 * the queue, so a crash repeats events and never loses one. It also ends holds whose lease ran out.
 */
export class Relay {
  readonly #options: RelayOptions;
  readonly #timers: Timers;
  readonly #shards: Shard[];
  readonly #byName: Map<string, Shard>;
  #batch: { shard: Shard; entries: RelayedEvent[] }[] = [];
  #batchEvents = 0;
  /** Is the number of running reads. */
  #looking = 0;
  #cancelBatch: (() => void) | undefined;
  #cancelTurn: (() => void) | undefined;
  #stopLearning: (() => void) | undefined;
  #peers: readonly string[] = [];
  #isClosing = false;
  readonly #running = new Set<Promise<void>>();

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#timers = options.timers ?? SYSTEM_TIMERS;
    this.#shards = shardNames(options.shards).map((name, index) => ({
      name,
      index,
      isLeased: false,
      isBusy: false,
      pollMs: BEAT_MS,
      nextAtMs: 0,
      keepUntilMs: 0,
      relayedIds: [],
      hasMore: false,
    }));
    this.#byName = new Map(this.#shards.map((shard) => [shard.name, shard]));
  }

  async start(): Promise<void> {
    await this.#learnPeers();
    this.#stopLearning = this.#timers.every(PEERS_INTERVAL_MS, () => void this.#learnPeers());
    this.#schedule();
  }

  /** Is called when this node wrote an event of the account's shard. */
  wake(accountId: number): void {
    const shard = this.#byName.get(this.#options.outbox.shardOf(accountId));
    if (!shard?.isLeased) return;
    const soon = this.#nextBeat();
    if (shard.nextAtMs <= soon) return;
    shard.nextAtMs = soon;
    this.#schedule();
  }

  /** Puts what was read into the queue and releases the leases, so that another node continues at once. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#stopLearning?.();
    this.#cancelTurn?.();
    this.#send();
    await Promise.all(this.#running);
    await Promise.all(
      this.#shards
        .filter((shard) => shard.isLeased)
        .map((shard) => this.#release(shard).catch(() => undefined)),
    );
  }

  async #learnPeers(): Promise<void> {
    try {
      const before = this.#peers.join();
      this.#peers = await this.#options.peers();
      if (this.#peers.join() !== before) this.#claimMine();
    } catch (error) {
      this.#options.log.debug(
        { err: error },
        'the fleet could not be read; leases stay as they are',
      );
    }
  }

  /** The fleet changed: shards that now belong to this node must not wait for their next fallback. */
  #claimMine(): void {
    const soon = this.#options.now() + POLL_MAX_MS;
    for (const shard of this.#shards)
      if (!shard.isLeased && this.#isMine(shard)) shard.nextAtMs = Math.min(shard.nextAtMs, soon);
    this.#schedule();
  }

  #isMine(shard: Shard): boolean {
    const { length } = this.#peers;
    return (
      length === 0 ||
      !this.#peers.includes(this.#options.owner) ||
      this.#peers[shard.index % length] === this.#options.owner
    );
  }

  #schedule(): void {
    this.#cancelTurn?.();
    if (this.#isClosing) return;
    const next = Math.min(
      ...this.#shards.filter((shard) => !shard.isBusy).map((shard) => shard.nextAtMs),
    );
    if (Number.isFinite(next))
      this.#cancelTurn = this.#timers.after(Math.max(0, next - this.#options.now()), () =>
        this.#takeDue(),
      );
  }

  #takeDue(): void {
    const now = this.#options.now();
    for (const shard of this.#shards) {
      if (shard.isBusy || shard.nextAtMs > now) continue;
      shard.isBusy = true;
      this.#track(this.#visit(shard, now));
    }
    this.#schedule();
  }

  #track(work: Promise<void>): void {
    this.#running.add(work);
    void work.finally(() => {
      this.#running.delete(work);
      this.#schedule();
    });
  }

  #nextBeat(): number {
    return (Math.floor(this.#options.now() / BEAT_MS) + 1) * BEAT_MS;
  }

  async #visit(shard: Shard, now: number): Promise<void> {
    this.#looking += 1;
    try {
      if (shard.isLeased && !this.#isMine(shard) && now >= shard.keepUntilMs)
        await this.#release(shard);
      else await this.#poll(shard);
    } catch (error) {
      this.#options.log.warn({ err: error, shard: shard.name }, 'relay poll failed');
      this.#rest(shard, this.#jittered(RETRY_MS));
    } finally {
      this.#looking -= 1;
      if (this.#looking === 0) this.#send();
    }
  }

  async #poll(shard: Shard): Promise<void> {
    const { outbox, owner, now } = this.#options;
    const reply = await outbox.relay(shard.name, {
      owner,
      leaseMs: LEASE_MS,
      relayedIds: shard.relayedIds,
      entriesMax: BATCH_EVENTS_MAX,
      bytesMax: BATCH_BYTES_MAX,
      expiredHoldsMax: EXPIRED_HOLDS_MAX,
    });
    shard.relayedIds = [];
    if (reply.kind === 'held_elsewhere') {
      shard.isLeased = false;
      this.#rest(
        shard,
        this.#jittered(
          this.#isMine(shard) ? Math.min(RETRY_MS, Math.max(BEAT_MS, reply.leaseMs)) : FALLBACK_MS,
        ),
      );
      return;
    }
    if (!shard.isLeased && !this.#isMine(shard)) shard.keepUntilMs = now() + FALLBACK_KEEP_MS;
    shard.isLeased = true;
    await this.#reapExpired(reply);
    shard.hasMore = reply.outboxLength > reply.entries.length;
    if (reply.entries.length > 0) return this.#collect(shard, reply.entries);
    const isAlone = this.#peers.length <= 1;
    shard.pollMs = Math.min(isAlone ? POLL_MAX_ALONE_MS : POLL_MAX_MS, shard.pollMs * 2);
    shard.isBusy = false;
    shard.nextAtMs = this.#nextBeat() + shard.pollMs - BEAT_MS;
  }

  async #reapExpired({ expiredHolds }: RelayBatch): Promise<void> {
    for (const hold of expiredHolds) await this.#options.outbox.reap(hold);
  }

  async #release(shard: Shard): Promise<void> {
    shard.isLeased = false;
    this.#rest(shard, this.#jittered(FALLBACK_MS));
    await this.#options.outbox.releaseRelay(shard.name, {
      owner: this.#options.owner,
      relayedIds: shard.relayedIds,
    });
    shard.relayedIds = [];
  }

  #rest(shard: Shard, ms: number): void {
    shard.isBusy = false;
    shard.nextAtMs = this.#options.now() + ms;
  }

  /** The shard stays busy until its entries are in the queue, so this relay never reads them twice. */
  #collect(shard: Shard, entries: RelayedEvent[]): void {
    this.#batch.push({ shard, entries });
    this.#batchEvents += entries.length;
    if (this.#batchEvents >= BATCH_EVENTS_MAX || this.#isClosing) this.#send();
    else this.#cancelBatch ??= this.#timers.after(BATCH_WAIT_MS, () => this.#send());
  }

  #send(): void {
    this.#cancelBatch?.();
    this.#cancelBatch = undefined;
    const batch = this.#batch;
    this.#batch = [];
    this.#batchEvents = 0;
    if (batch.length > 0) this.#track(this.#enqueue(batch));
  }

  async #enqueue(batch: { shard: Shard; entries: RelayedEvent[] }[]): Promise<void> {
    try {
      await this.#options.queue.add({ events: batch.flatMap(({ entries }) => entries) });
      for (const { shard, entries } of batch) {
        shard.relayedIds = entries.map((entry) => entry.outboxId);
        shard.pollMs = BEAT_MS;
        shard.isBusy = false;
        shard.nextAtMs = shard.hasMore ? this.#options.now() : this.#nextBeat();
      }
    } catch (error) {
      // The events are still in their outboxes and are read again.
      this.#options.log.warn({ err: error }, 'usage could not be queued; trying again');
      for (const { shard } of batch) this.#rest(shard, this.#jittered(RETRY_MS));
    }
  }

  #jittered(ms: number): number {
    return ms * (0.75 + this.#options.random() / 2);
  }
}
