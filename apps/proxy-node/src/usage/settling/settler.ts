import { ratedTokensOf, type Acknowledgement, type UsageFinal } from '@tollgate/contracts';
import type { SettleRequest } from '@tollgate/keyspace';
import type { Logger } from 'pino';
import type { JournalPlace } from '../../journal/live-places.ts';
import {
  finalStep,
  FinalState,
  isUnsent,
  type FinalAction,
  type FinalEvent,
  type Replayed,
} from './final-step.ts';
import { KeptFinals } from './kept-finals.ts';
import type { FencedBy, MeteringPort } from '../metering-port.ts';
import { Beat, SYSTEM_TIMERS, type Timers } from '../../timers.ts';
import { UnsentFinals } from './unsent-finals.ts';
import { LiveMap, LiveSet } from '../../live-map.ts';

/** At most this many settlements run at a time: Redis answers thousands a second, and more would only wait in its socket. */
const CONCURRENCY_MAX = 128;
const RE_EMITS_PER_SWEEP = 200;
/** Redis may lose its last second, and a failover slightly more; what it took longer ago is on its disk. Time without Redis does not count. */
export const KEEP_ACKNOWLEDGED_MS = 15_000;
const SWEEP_MS = 200;

/** Describes a final that the journal has. */
export interface JournalledFinal {
  readonly rid: string;
  readonly epoch: string;
  readonly final: UsageFinal;
  readonly atMs: number;
}

/**
 * A final on its way, from `settle` until PostgreSQL and Redis have had it for 15 s: tens of thousands at a high rate, so that it keeps what a settlement needs,
 * and of the final itself only the text.
 */
export class PendingFinal extends FinalState {
  readonly rid: string;
  readonly epoch: string;
  readonly payload: string;
  readonly accountId: number;
  readonly modelId: number;
  readonly chargeTokens: number;
  readonly ratedTokens: ReturnType<typeof ratedTokensOf>;
  readonly claims: string | undefined;
  readonly atMs: number;
  place: JournalPlace = 0;

  constructor({ rid, epoch, final, atMs }: JournalledFinal, replayed?: Replayed) {
    super(replayed);
    this.rid = rid;
    this.epoch = epoch;
    this.payload = JSON.stringify(final);
    this.accountId = final.account_id;
    this.modelId = final.model_id;
    this.chargeTokens = final.charge;
    this.ratedTokens = ratedTokensOf(final);
    this.claims = final.budgets;
    this.atMs = atMs;
  }
}

export interface SettlerOptions {
  metering: Pick<MeteringPort, 'settle'>;
  log: Pick<Logger, 'warn' | 'info'>;
  now: () => number;
  random: () => number;
  timers?: Timers;
  /** While Redis is away nothing is removed, because what it lost is known only after it has returned. */
  isReachable: () => boolean;
  onAcknowledged: (final: PendingFinal, seq: number) => void;
  onForgotten: (final: PendingFinal) => void;
  /** Is called after each settlement that wrote an event, so that the relay reads at once. */
  onSettled: (final: PendingFinal) => void;
  /**
   * Is called once for each final that Redis cannot take: its shard lost its data (`epoch`), or the marker of its settlement may have expired
   * (`age`). The uplink that sends it to the control plane reports it with `booked`. Until then it stays in the journal and is offered to Redis
   * again.
   */
  onFenced: (final: PendingFinal, by: FencedBy) => void;
}

/**
 * Moves finals into Redis until Redis confirms, and keeps them until PostgreSQL has acknowledged them. `finalStep` decides; this class calls Redis,
 * queues and reports.
 */
export class Settler {
  readonly #options: SettlerOptions;
  readonly #entries = new LiveMap<string, PendingFinal>();
  readonly #ready = new LiveSet<PendingFinal>();
  readonly #later = new LiveSet<PendingFinal>();
  readonly #owed = new LiveSet<PendingFinal>();
  readonly #kept = new KeptFinals<PendingFinal>(KEEP_ACKNOWLEDGED_MS);
  readonly #unsent = new UnsentFinals();
  #settling = 0;
  #acknowledged = 0;
  readonly #sweeping: Beat;

  constructor(options: SettlerOptions) {
    this.#options = options;
    this.#sweeping = new Beat(options.timers ?? SYSTEM_TIMERS, SWEEP_MS, () => this.#sweep());
  }

  /** Is the number of finals that PostgreSQL has not acknowledged. */
  get unacknowledged(): number {
    return this.#entries.size - this.#acknowledged;
  }

  /** Is the number of finals that Redis has not taken. */
  get unsettled(): number {
    return this.#ready.size + this.#later.size + this.#settling;
  }

  unsentOf(subscription: { accountId: number; modelId: number }): number {
    return this.#unsent.countOf(subscription);
  }

  *finals(): Generator<PendingFinal> {
    yield* this.#entries.values();
  }

  isAcknowledged(rid: string): boolean {
    return this.#entries.get(rid)?.acknowledgedAtMs != null;
  }

  /** Takes a final that is in the journal. */
  add(final: PendingFinal): void {
    this.#entries.set(final.rid, final);
    this.#sweeping.begin();
    if (final.acknowledgedAtMs !== null) this.#acknowledged += 1;
    this.#enqueue(final);
  }

  /** Sends everything again that Redis could have lost while it was away. */
  replay(): void {
    for (const entry of this.#later) this.#step(entry, { kind: 'replay' });
    for (const entry of this.#entries.values()) this.#step(entry, { kind: 'replay' });
  }

  acknowledge(acknowledgements: readonly Acknowledgement[]): void {
    for (const { rid, seq } of acknowledgements) {
      const entry = this.#entries.get(rid);
      if (entry) this.#step(entry, { kind: 'acknowledged', seq });
    }
  }

  /** Takes note of requests that went to PostgreSQL without Redis. */
  booked(rids: readonly string[]): void {
    for (const rid of rids) {
      const entry = this.#entries.get(rid);
      if (entry) this.#step(entry, { kind: 'booked' });
    }
  }

  close(): void {
    this.#sweeping.end();
  }

  #step(final: PendingFinal, event: FinalEvent): void {
    const { stage: before } = final;
    const wasUnsent = isUnsent(final);
    const actions = finalStep(final, event, this.#options.now());
    if (final.stage !== before) this.#move(final, before, wasUnsent);
    for (const action of actions) this.#act(final, action);
  }

  /** Moves a final to the queue of its stage. */
  #move(final: PendingFinal, before: FinalState['stage'], wasUnsent: boolean): void {
    if (before === 'ready' && this.#ready.delete(final) && wasUnsent) this.#unsent.remove(final);
    if (before === 'settling') this.#settling -= 1;
    if (before === 'later') this.#later.delete(final);
    if (before === 'owed') this.#owed.delete(final);
    const { stage } = final;
    if (stage === 'ready') this.#enqueue(final);
    if (stage === 'settling') this.#settling += 1;
    if (stage === 'later') this.#later.add(final);
    if (stage === 'owed') this.#owed.add(final);
    if (stage === 'kept') this.#kept.add(final);
    if (stage === 'forgotten') this.#entries.delete(final.rid);
  }

  #act(final: PendingFinal, action: FinalAction): void {
    switch (action.kind) {
      case 'settled':
        return this.#options.onSettled(final);
      case 'acknowledged':
        this.#acknowledged += 1;
        return this.#options.onAcknowledged(final, action.seq);
      case 'fenced':
        return this.#options.onFenced(final, action.by);
      case 'forgotten':
        this.#acknowledged -= 1;
        return this.#options.onForgotten(final);
      default:
        action satisfies never;
    }
  }

  #enqueue(final: PendingFinal): void {
    if (this.#settling < CONCURRENCY_MAX) return this.#settle(final);
    this.#ready.add(final);
    if (isUnsent(final)) this.#unsent.add(final);
  }

  #settle(final: PendingFinal): void {
    const { metering, random, log } = this.#options;
    this.#step(final, STARTED);
    metering.settle(requestOf(final)).then(
      (reply) => this.#stepOn(final, { kind: 'replied', reply, spread: random() }),
      (error: unknown) => {
        if (final.failures === 0)
          log.warn({ err: error, rid: final.rid }, 'settlement failed; trying again');
        this.#stepOn(final, { kind: 'failed', spread: random() });
      },
    );
  }

  /** A call has ended, and leaves its place to another. */
  #stepOn(entry: PendingFinal, event: FinalEvent): void {
    this.#step(entry, event);
    this.#startNext();
  }

  #startNext(): void {
    for (const entry of this.#ready) {
      if (this.#settling >= CONCURRENCY_MAX) return;
      this.#settle(entry);
    }
  }

  /** Returns false when no final is left. */
  #sweep(): boolean {
    const now = this.#options.now();
    const onDue = (entry: PendingFinal): void => this.#step(entry, { kind: 'due' });
    if (this.#options.isReachable()) this.#kept.forgetDue(now, onDue);
    let reEmits = 0;
    for (const entry of this.#owed) {
      if (reEmits >= RE_EMITS_PER_SWEEP) break;
      if (entry.dueAtMs > now) continue;
      reEmits += 1;
      onDue(entry);
    }
    for (const entry of this.#later) if (entry.dueAtMs <= now) onDue(entry);
    return this.#entries.size > 0;
  }
}

const STARTED: FinalEvent = { kind: 'started' };

function requestOf(final: PendingFinal): SettleRequest {
  const { rid, epoch, accountId, modelId, chargeTokens, ratedTokens } = final;
  const { payload, reEmit, claims } = final;
  return { rid, epoch, accountId, modelId, chargeTokens, ratedTokens, payload, reEmit, claims };
}
