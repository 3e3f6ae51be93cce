import { ratedTokensOf, type Acknowledgement, type UsageFinal } from '@tollgate/contracts';
import type { SettleRequest } from '@tollgate/keyspace';
import type { Logger } from 'pino';
import type { JournalPlace } from '../../journal/live-places.ts';
import {
  finalStep,
  isUnsent,
  startFinal,
  type FinalAction,
  type FinalEvent,
  type FinalState,
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

/** Describes a final on its way, from `settle` until PostgreSQL and Redis have had it for 15 s. */
export interface PendingFinal {
  readonly rid: string;
  readonly epoch: string;
  readonly final: UsageFinal;
  readonly payload: string;
  readonly atMs: number;
  place: JournalPlace;
}

interface Entry {
  readonly pending: PendingFinal;
  state: FinalState;
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
  readonly #entries = new LiveMap<string, Entry>();
  readonly #ready = new LiveSet<Entry>();
  readonly #later = new LiveSet<Entry>();
  readonly #owed = new LiveSet<Entry>();
  readonly #kept = new KeptFinals<Entry>(KEEP_ACKNOWLEDGED_MS);
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
    for (const { pending } of this.#entries.values()) yield pending;
  }

  isAcknowledged(rid: string): boolean {
    return this.#entries.get(rid)?.state.acknowledgedAtMs != null;
  }

  /** Takes a final that is in the journal. */
  add(pending: PendingFinal, replayed?: Parameters<typeof startFinal>[0]): void {
    const entry: Entry = { pending, state: startFinal(replayed) };
    this.#entries.set(pending.rid, entry);
    this.#sweeping.begin();
    if (entry.state.acknowledgedAtMs !== null) this.#acknowledged += 1;
    this.#enqueue(entry);
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

  /** These requests went to PostgreSQL without Redis. */
  booked(rids: readonly string[]): void {
    for (const rid of rids) {
      const entry = this.#entries.get(rid);
      if (entry) this.#step(entry, { kind: 'booked' });
    }
  }

  close(): void {
    this.#sweeping.end();
  }

  #step(entry: Entry, event: FinalEvent): void {
    const { state: before } = entry;
    const [state, actions] = finalStep(before, event, this.#options.now());
    entry.state = state;
    if (state.stage !== before.stage) this.#move(entry, before);
    for (const action of actions) this.#act(entry, action);
  }

  /** Moves a final to the queue of its stage. */
  #move(entry: Entry, before: FinalState): void {
    if (before.stage === 'ready' && this.#ready.delete(entry) && isUnsent(before))
      this.#unsent.remove(entry.pending.final);
    if (before.stage === 'settling') this.#settling -= 1;
    this.#later.delete(entry);
    this.#owed.delete(entry);
    const { stage } = entry.state;
    if (stage === 'ready') this.#enqueue(entry);
    if (stage === 'settling') this.#settling += 1;
    if (stage === 'later') this.#later.add(entry);
    if (stage === 'owed') this.#owed.add(entry);
    if (stage === 'kept') this.#kept.add(entry);
    if (stage === 'forgotten') this.#entries.delete(entry.pending.rid);
  }

  #act({ pending }: Entry, action: FinalAction): void {
    switch (action.kind) {
      case 'settled':
        return this.#options.onSettled(pending);
      case 'acknowledged':
        this.#acknowledged += 1;
        return this.#options.onAcknowledged(pending, action.seq);
      case 'fenced':
        return this.#options.onFenced(pending, action.by);
      case 'forgotten':
        this.#acknowledged -= 1;
        return this.#options.onForgotten(pending);
      default:
        action satisfies never;
    }
  }

  #enqueue(entry: Entry): void {
    if (this.#settling < CONCURRENCY_MAX) return this.#settle(entry);
    this.#ready.add(entry);
    if (isUnsent(entry.state)) this.#unsent.add(entry.pending.final);
  }

  #settle(entry: Entry): void {
    const { metering, random, log } = this.#options;
    this.#step(entry, STARTED);
    const { rid } = entry.pending;
    metering.settle(requestOf(entry)).then(
      (reply) => this.#stepOn(entry, { kind: 'replied', reply, spread: random() }),
      (error: unknown) => {
        if (entry.state.failures === 0)
          log.warn({ err: error, rid }, 'settlement failed; trying again');
        this.#stepOn(entry, { kind: 'failed', spread: random() });
      },
    );
  }

  /** A call has ended, and leaves its place to another. */
  #stepOn(entry: Entry, event: FinalEvent): void {
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
    const onDue = (entry: Entry): void => this.#step(entry, { kind: 'due' });
    if (this.#options.isReachable()) this.#kept.forgetDue(now, onDue);
    let reEmits = 0;
    for (const entry of this.#owed) {
      if (reEmits >= RE_EMITS_PER_SWEEP) break;
      if (entry.state.dueAtMs > now) continue;
      reEmits += 1;
      onDue(entry);
    }
    for (const entry of this.#later) if (entry.state.dueAtMs <= now) onDue(entry);
    return this.#entries.size > 0;
  }
}

const STARTED: FinalEvent = { kind: 'started' };

function requestOf({ pending, state }: Entry): SettleRequest {
  const { rid, epoch, final, payload } = pending;
  return {
    rid,
    epoch,
    accountId: final.account_id,
    modelId: final.model_id,
    chargeTokens: final.charge,
    ratedTokens: ratedTokensOf(final),
    payload,
    reEmit: state.reEmit,
    claims: final.budgets,
  };
}
