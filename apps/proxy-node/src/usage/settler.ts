import type { Acknowledgement, UsageFinal } from '@tollgate/contracts';
import type { SettleReply } from '@tollgate/keyspace';
import type { Logger } from 'pino';
import type { JournalPlace } from '../journal/live-places.ts';
import { KeptFinals } from './kept-finals.ts';
import type { FencedBy, MeteringPort } from './metering-port.ts';
import { SYSTEM_TIMERS, type Timers } from '../timers.ts';
import { UnsentFinals } from './unsent-finals.ts';

/** Settles in flight at a time; Redis answers thousands a second, more would only queue in its socket. */
const CONCURRENCY_MAX = 128;
const RETRY_FIRST_MS = 100;
const RETRY_MAX_MS = 5_000;
const FENCED_RETRY_MS = 5_000;
/** Of a final that is too old for Redis, which it stays unless Redis' clock was wrong. */
const AGED_RETRY_MS = 300_000;
/** Not acknowledged so long after it was settled: the event is emitted again (docs/design/metering.md#journal), then at growing intervals, so that a control plane that is away for an hour is not buried in copies. */
const RE_EMIT_FIRST_MS = 8_000;
const RE_EMIT_MAX_MS = 300_000;
const RE_EMITS_PER_SWEEP = 200;
/** Redis may lose its last second and its failover a little more; what was acknowledged longer ago is on its disk. */
export const KEEP_ACKNOWLEDGED_MS = 15_000;
const SWEEP_MS = 200;

/** A final on its way; from `settle` until 15 s after PostgreSQL has it. */
export interface PendingFinal {
  readonly rid: string;
  readonly epoch: string;
  readonly final: UsageFinal;
  readonly payload: string;
  readonly atMs: number;
  place: JournalPlace;
}

interface Entry extends PendingFinal {
  state: 'waiting' | 'settling' | 'settled' | 'forgotten';
  /** Which event carries this final: known from the reply, null while it is not. Acknowledging seq 0 of a reaped hold must not forget its final. */
  carriedBy: number | null;
  /** Acknowledged event numbers, while `carriedBy` is unknown. */
  seen: Set<number>;
  reEmit: boolean;
  dueAtMs: number;
  failures: number;
  reEmits: number;
  acknowledgedAtMs: number | null;
  /** Why Redis last refused it for good; null while it has not. */
  fencedBy: FencedBy | null;
}

export interface SettlerOptions {
  metering: Pick<MeteringPort, 'settle'>;
  log: Pick<Logger, 'warn' | 'info'>;
  now: () => number;
  random: () => number;
  timers?: Timers;
  onAcknowledged: (final: PendingFinal, seq: number) => void;
  onForgotten: (final: PendingFinal) => void;
  /** After each settle that wrote an event, so that the relay looks at once. */
  onSettled: (final: PendingFinal) => void;
  /**
   * Redis cannot take this final: its shard lost its data (`epoch`), or the marker of its settlement may have expired (`age`). Called once for each;
   * the uplink that hands it to the control plane reports it with `booked`. Until then it stays in the journal and is offered to Redis again.
   */
  onFenced: (final: PendingFinal, by: FencedBy) => void;
}

/** Moves finals into Redis until it says so, and keeps them until PostgreSQL has acknowledged them. */
export class Settler {
  readonly #options: SettlerOptions;
  readonly #entries = new Map<string, Entry>();
  /** To be settled as soon as a place is free, in order. */
  readonly #ready = new Set<Entry>();
  /** To be tried again at their `dueAtMs`. */
  readonly #later = new Set<Entry>();
  /** Settled and not acknowledged. */
  readonly #owed = new Set<Entry>();
  readonly #kept = new KeptFinals<Entry>(KEEP_ACKNOWLEDGED_MS);
  readonly #unsent = new UnsentFinals();
  #settling = 0;
  #acknowledged = 0;
  readonly #stopSweeping: () => void;

  constructor(options: SettlerOptions) {
    this.#options = options;
    this.#stopSweeping = (options.timers ?? SYSTEM_TIMERS).every(SWEEP_MS, () => this.#sweep());
  }

  /** Finals PostgreSQL has not acknowledged. */
  get unacknowledged(): number {
    return this.#entries.size - this.#acknowledged;
  }

  /** Finals Redis has not taken. */
  get unsettled(): number {
    return this.#ready.size + this.#later.size + this.#settling;
  }

  unsentOf(subscription: { accountId: number; modelId: number }): number {
    return this.#unsent.countOf(subscription);
  }

  finals(): Iterable<PendingFinal> {
    return this.#entries.values();
  }

  isAcknowledged(rid: string): boolean {
    return this.#entries.get(rid)?.acknowledgedAtMs != null;
  }

  /** Takes a final that is in the journal. One from before a restart may have been settled then: it is emitted again. */
  add(
    final: PendingFinal,
    { isReplayed = false, acknowledgedAtMs = null as number | null } = {},
  ): void {
    const entry: Entry = {
      ...final,
      state: 'waiting',
      carriedBy: null,
      seen: new Set(),
      reEmit: isReplayed,
      dueAtMs: 0,
      failures: 0,
      reEmits: 0,
      acknowledgedAtMs,
      fencedBy: null,
    };
    this.#entries.set(final.rid, entry);
    if (acknowledgedAtMs !== null) this.#acknowledged += 1;
    this.#enqueue(entry);
  }

  /** Redis may have lost its tail while it was away: everything it could have lost is sent again. */
  replay(): void {
    for (const entry of this.#later) this.#enqueue(entry);
    for (const entry of this.#entries.values()) {
      if (entry.state !== 'settled') continue;
      entry.reEmit = true;
      this.#enqueue(entry);
    }
  }

  acknowledge(acknowledgements: readonly Acknowledgement[]): void {
    for (const { rid, seq } of acknowledgements) {
      const entry = this.#entries.get(rid);
      if (!entry || entry.acknowledgedAtMs !== null) continue;
      entry.seen.add(seq);
      this.#concludeAcknowledged(entry);
    }
  }

  /** These went to PostgreSQL without Redis. */
  booked(rids: readonly string[]): void {
    for (const rid of rids) {
      const entry = this.#entries.get(rid);
      if (!entry || entry.acknowledgedAtMs !== null) continue;
      this.#acknowledged += 1;
      entry.acknowledgedAtMs = this.#options.now();
      this.#options.onAcknowledged(entry, entry.carriedBy ?? 0);
      if (this.#later.delete(entry)) this.#forget(entry);
      else if (this.#owed.delete(entry)) this.#kept.add(entry);
    }
  }

  close(): void {
    this.#stopSweeping();
  }

  #enqueue(entry: Entry): void {
    entry.state = 'waiting';
    this.#later.delete(entry);
    this.#owed.delete(entry);
    if (this.#settling < CONCURRENCY_MAX) return void this.#settle(entry);
    this.#ready.add(entry);
    if (isUnsent(entry)) this.#unsent.add(entry.final);
  }

  async #settle(entry: Entry): Promise<void> {
    if (this.#ready.delete(entry) && isUnsent(entry)) this.#unsent.remove(entry.final);
    entry.state = 'settling';
    this.#settling += 1;
    if (entry.reEmit) entry.seen.clear();
    try {
      await this.#settleOnce(entry);
    } catch (error) {
      // The call may have reached Redis all the same: from now on the event is asked for again.
      entry.reEmit = true;
      entry.failures += 1;
      if (entry.failures === 1)
        this.#options.log.warn({ error, rid: entry.rid }, 'settlement failed; trying again');
      this.#postpone(
        entry,
        this.#jittered(
          Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(entry.failures - 1, 10)),
        ),
      );
    } finally {
      this.#settling -= 1;
      this.#startNext();
    }
  }

  async #settleOnce(entry: Entry): Promise<void> {
    const { rid, epoch, final, payload } = entry;
    const reply = await this.#options.metering.settle({
      rid,
      epoch,
      accountId: final.account_id,
      modelId: final.model_id,
      chargeTokens: final.charge,
      payload,
      reEmit: entry.reEmit,
    });
    if (reply.kind === 'fenced' && entry.acknowledgedAtMs !== null) return this.#forget(entry);
    if (reply.kind === 'fenced') {
      if (entry.fencedBy !== reply.by) this.#options.onFenced(entry, reply.by);
      entry.fencedBy = reply.by;
      this.#postpone(entry, reply.by === 'age' ? this.#jittered(AGED_RETRY_MS) : FENCED_RETRY_MS);
      return;
    }
    this.#conclude(entry, reply);
  }

  #conclude(entry: Entry, reply: Exclude<SettleReply, { kind: 'fenced' }>): void {
    if (reply.kind === 'settled') entry.carriedBy = reply.from === 'reaped' ? 1 : 0;
    entry.state = 'settled';
    entry.failures = 0;
    entry.fencedBy = null;
    // A duplicate that was not asked to be emitted again may rest on an event that was never seen to leave the outbox: the first sweep asks again.
    const wait =
      reply.kind === 'duplicate' && !entry.reEmit
        ? 0
        : Math.min(RE_EMIT_MAX_MS, RE_EMIT_FIRST_MS * 2 ** Math.min(entry.reEmits, 10));
    entry.dueAtMs = this.#options.now() + this.#jittered(wait);
    entry.reEmit = false;
    if (entry.acknowledgedAtMs === null) this.#owed.add(entry);
    else this.#kept.add(entry);
    this.#concludeAcknowledged(entry);
    this.#options.onSettled(entry);
  }

  #postpone(entry: Entry, delayMs: number): void {
    entry.state = 'waiting';
    entry.dueAtMs = this.#options.now() + delayMs;
    this.#later.add(entry);
  }

  /**
   * An acknowledgement counts when it names the event that carries the final. After a duplicate that is unknown: seq 1 always carries it;
   * seq 0, once it was emitted again, was emitted together with a seq 1 if there is one, and that one is in the outbox too.
   */
  #concludeAcknowledged(entry: Entry): void {
    if (entry.acknowledgedAtMs !== null || entry.state !== 'settled') return;
    const seq = entry.carriedBy ?? (entry.seen.has(1) ? 1 : 0);
    if (!entry.seen.has(seq)) return;
    entry.acknowledgedAtMs = this.#options.now();
    this.#acknowledged += 1;
    this.#owed.delete(entry);
    this.#kept.add(entry);
    this.#options.onAcknowledged(entry, seq);
  }

  #startNext(): void {
    for (const entry of this.#ready) {
      if (this.#settling >= CONCURRENCY_MAX) return;
      void this.#settle(entry);
    }
  }

  #sweep(): void {
    const now = this.#options.now();
    let reEmits = 0;
    this.#kept.forgetDue(now, (entry) => this.#forget(entry));
    for (const entry of this.#owed) {
      if (reEmits >= RE_EMITS_PER_SWEEP) break;
      if (entry.dueAtMs > now) continue;
      reEmits += 1;
      entry.reEmits += 1;
      entry.reEmit = true;
      this.#enqueue(entry);
    }
    for (const entry of this.#later) if (entry.dueAtMs <= now) this.#enqueue(entry);
  }

  #forget(entry: Entry): void {
    entry.state = 'forgotten';
    this.#entries.delete(entry.rid);
    this.#acknowledged -= 1;
    this.#options.onForgotten(entry);
  }

  #jittered(ms: number): number {
    return ms * (0.75 + this.#options.random() / 2);
  }
}

/** It was certainly not sent to Redis. */
function isUnsent({ failures, reEmit }: Entry): boolean {
  return failures === 0 && !reEmit;
}
