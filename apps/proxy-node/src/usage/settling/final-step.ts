import type { SettleReply } from '@tollgate/keyspace';
import type { FencedBy } from '../metering-port.ts';

const RETRY_FIRST_MS = 100;
const RETRY_MAX_MS = 5_000;
const FENCED_RETRY_MS = 5_000;
/** A final that is too old for Redis is tried again only at this interval: it stays too old unless Redis' clock was wrong. */
const AGED_RETRY_MS = 300_000;
/**
 * When a settled final is not acknowledged within this time, its event is emitted again (docs/design/metering.md#journal), then at growing intervals,
 * so that a control plane that is away for an hour does not get many copies.
 */
const RE_EMIT_FIRST_MS = 8_000;
const RE_EMIT_MAX_MS = 300_000;

/**
 * `ready` waits for a free call, `later` for its time to try again. `owed` is in Redis and not acknowledged. `kept` is acknowledged, and Redis may
 * still lose it.
 */
export type FinalStage = 'ready' | 'settling' | 'later' | 'owed' | 'kept' | 'forgotten';

/** One from before a restart may have been settled then, so it is emitted again. */
export interface Replayed {
  readonly isReplayed?: boolean;
  readonly acknowledgedAtMs?: number | null;
}

/** Holds the state of a final on its way from the journal to PostgreSQL. Times are those of one clock. `finalStep` alone changes it. */
export class FinalState {
  stage: FinalStage = 'ready';
  /**
   * Is the number of the event that carries this final, which the reply contains; null while it is unknown. An acknowledgement of seq 0 of a reaped hold
   * must not remove its final.
   */
  carriedBy: number | null = null;
  /** Lists the acknowledged event numbers while `carriedBy` is unknown. */
  seen: readonly number[] = NONE_SEEN;
  /** Is true when the next call asks Redis to emit the event again. */
  reEmit: boolean;
  /** Is the time at which a `later` or `owed` final is due. */
  dueAtMs = 0;
  failures = 0;
  reEmits = 0;
  /** Is the time of the acknowledgement, or of the last time that Redis took it since, because Redis may lose that, too. */
  acknowledgedAtMs: number | null;
  /** Is the reason of Redis' last permanent refusal; null without one. */
  fencedBy: FencedBy | null = null;

  constructor({ isReplayed = false, acknowledgedAtMs = null }: Replayed = {}) {
    this.reEmit = isReplayed;
    this.acknowledgedAtMs = acknowledgedAtMs;
  }
}

/** `spread` is between 0 and 1, so that finals that fail together are not tried again together. */
export type FinalEvent =
  /** A call of `settle` starts. */
  | { kind: 'started' }
  | { kind: 'replied'; reply: SettleReply; spread: number }
  /** The call failed; whether Redis did anything is unknown. */
  | { kind: 'failed'; spread: number }
  /** The final is due: to be tried again, emitted again, or removed. */
  | { kind: 'due' }
  /** Redis was away and may have lost its last writes. */
  | { kind: 'replay' }
  | { kind: 'acknowledged'; seq: number }
  /** The final went to PostgreSQL without Redis. */
  | { kind: 'booked' };

export type FinalAction =
  | { kind: 'settled' }
  | { kind: 'acknowledged'; seq: number }
  | { kind: 'fenced'; by: FencedBy }
  | { kind: 'forgotten' };

type Actions = readonly FinalAction[];

// Finals share one empty list, because they are kept by the ten thousand.
const NONE_SEEN: readonly number[] = [];
const NONE: Actions = [];
const SETTLED: Actions = [{ kind: 'settled' }];
const FORGOTTEN: Actions = [{ kind: 'forgotten' }];

/** Returns whether it was certainly not sent to Redis. */
export function isUnsent({ failures, reEmit }: FinalState): boolean {
  return failures === 0 && !reEmit;
}

/** Brings one final into Redis and keeps it until PostgreSQL has it. Pure but for `state`, which it changes: `now` comes with each event, and the caller acts. */
export function finalStep(state: FinalState, event: FinalEvent, now: number): Actions {
  switch (event.kind) {
    case 'started':
      state.stage = 'settling';
      if (state.reEmit) state.seen = NONE_SEEN;
      return NONE;
    case 'replied':
      return replied(state, event, now);
    case 'failed':
      return failed(state, event.spread, now);
    case 'due':
      return due(state);
    case 'replay':
      return replayed(state);
    case 'acknowledged':
      if (state.acknowledgedAtMs !== null) return NONE;
      state.seen = [...state.seen, event.seq];
      return acknowledged(state, now);
    case 'booked':
      return state.acknowledgedAtMs === null ? booked(state, now) : NONE;
    default:
      return event satisfies never;
  }
}

function replied(
  state: FinalState,
  { reply, spread }: { reply: SettleReply; spread: number },
  now: number,
): Actions {
  if (reply.kind !== 'fenced') return settled(state, { reply, spread }, now);
  if (state.acknowledgedAtMs !== null) return forgotten(state);
  const isKnown = state.fencedBy === reply.by;
  state.stage = 'later';
  state.dueAtMs = now + (reply.by === 'age' ? jittered(AGED_RETRY_MS, spread) : FENCED_RETRY_MS);
  state.fencedBy = reply.by;
  return isKnown ? NONE : [{ kind: 'fenced', by: reply.by }];
}

function settled(
  state: FinalState,
  { reply, spread }: { reply: Exclude<SettleReply, { kind: 'fenced' }>; spread: number },
  now: number,
): Actions {
  // A duplicate that was not emitted again may rest on an event that never left the outbox, so the first sweep asks again.
  const waitMs =
    reply.kind === 'duplicate' && !state.reEmit
      ? 0
      : Math.min(RE_EMIT_MAX_MS, RE_EMIT_FIRST_MS * 2 ** Math.min(state.reEmits, 10));
  const isAcknowledged = state.acknowledgedAtMs !== null;
  state.stage = isAcknowledged ? 'kept' : 'owed';
  if (reply.kind === 'settled') state.carriedBy = reply.from === 'reaped' ? 1 : 0;
  state.reEmit = false;
  state.dueAtMs = now + jittered(waitMs, spread);
  state.failures = 0;
  if (isAcknowledged) state.acknowledgedAtMs = now;
  state.fencedBy = null;
  const actions = acknowledged(state, now);
  return actions.length === 0 ? SETTLED : [...actions, ...SETTLED];
}

/** The call may have reached Redis despite the error. From now on the node asks for the event again. */
function failed(state: FinalState, spread: number, now: number): Actions {
  const delayMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(state.failures, 10));
  state.stage = 'later';
  state.reEmit = true;
  state.failures += 1;
  state.dueAtMs = now + jittered(delayMs, spread);
  return NONE;
}

function due(state: FinalState): Actions {
  if (state.stage === 'kept') return forgotten(state);
  if (state.stage === 'owed') {
    state.reEmit = true;
    state.reEmits += 1;
  } else if (state.stage !== 'later') return NONE;
  state.stage = 'ready';
  return NONE;
}

function replayed(state: FinalState): Actions {
  const { stage } = state;
  if (stage !== 'later' && stage !== 'owed' && stage !== 'kept') return NONE;
  state.stage = 'ready';
  if (stage !== 'later') state.reEmit = true;
  return NONE;
}

/**
 * Decides whether an acknowledgement names the event that carries the final. After a duplicate that is unknown: seq 1 always carries it; seq 0, when
 * it was emitted again, was emitted together with a seq 1 if there is one, which is then in the outbox, too.
 */
function acknowledged(state: FinalState, now: number): Actions {
  const seq = state.carriedBy ?? (state.seen.includes(1) ? 1 : 0);
  if (state.stage !== 'owed' || !state.seen.includes(seq)) return NONE;
  state.stage = 'kept';
  state.acknowledgedAtMs = now;
  return [{ kind: 'acknowledged', seq }];
}

function booked(state: FinalState, now: number): Actions {
  state.acknowledgedAtMs = now;
  const actions: Actions = [{ kind: 'acknowledged', seq: state.carriedBy ?? 0 }];
  if (state.stage === 'owed') state.stage = 'kept';
  return state.stage === 'later' ? [...actions, ...forgotten(state)] : actions;
}

function forgotten(state: FinalState): Actions {
  state.stage = 'forgotten';
  return FORGOTTEN;
}

function jittered(ms: number, spread: number): number {
  return ms * (0.75 + spread / 2);
}
