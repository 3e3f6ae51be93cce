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

/** Holds the state of a final on its way from the journal to PostgreSQL. Times are those of one clock. */
export interface FinalState {
  readonly stage: FinalStage;
  /**
   * Is the number of the event that carries this final, which the reply contains; null while it is unknown. An acknowledgement of seq 0 of a reaped hold
   * must not remove its final.
   */
  readonly carriedBy: number | null;
  /** Lists the acknowledged event numbers while `carriedBy` is unknown. */
  readonly seen: readonly number[];
  /** Is true when the next call asks Redis to emit the event again. */
  readonly reEmit: boolean;
  /** Is the time at which a `later` or `owed` final is due. */
  readonly dueAtMs: number;
  readonly failures: number;
  readonly reEmits: number;
  /** Is the time of the acknowledgement, or of the last time that Redis took it since, because Redis may lose that, too. */
  readonly acknowledgedAtMs: number | null;
  /** Is the reason of Redis' last permanent refusal; null without one. */
  readonly fencedBy: FencedBy | null;
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

type Step = readonly [FinalState, readonly FinalAction[]];

/** Starts a final. One from before a restart may have been settled then, so it is emitted again. */
export function startFinal({ isReplayed = false, acknowledgedAtMs = null as number | null } = {}) {
  return {
    stage: 'ready',
    carriedBy: null,
    seen: [],
    reEmit: isReplayed,
    dueAtMs: 0,
    failures: 0,
    reEmits: 0,
    acknowledgedAtMs,
    fencedBy: null,
  } as const satisfies FinalState;
}

/** Returns whether it was certainly not sent to Redis. */
export function isUnsent({ failures, reEmit }: FinalState): boolean {
  return failures === 0 && !reEmit;
}

/** Brings one final into Redis and keeps it until PostgreSQL has it. It is pure: `now` comes with each event, and the caller makes the calls. */
export function finalStep(state: FinalState, event: FinalEvent, now: number): Step {
  switch (event.kind) {
    case 'started':
      return idle({ ...state, stage: 'settling', seen: state.reEmit ? [] : state.seen });
    case 'replied':
      return replied(state, event, now);
    case 'failed':
      return idle(failed(state, event.spread, now));
    case 'due':
      return due(state);
    case 'replay':
      return idle(replayed(state));
    case 'acknowledged':
      if (state.acknowledgedAtMs !== null) return idle(state);
      return acknowledged({ ...state, seen: [...state.seen, event.seq] }, now);
    case 'booked':
      return state.acknowledgedAtMs === null ? booked(state, now) : idle(state);
    default:
      return event satisfies never;
  }
}

function replied(
  state: FinalState,
  { reply, spread }: { reply: SettleReply; spread: number },
  now: number,
): Step {
  if (reply.kind !== 'fenced') return settled(state, { reply, spread }, now);
  if (state.acknowledgedAtMs !== null) return forgotten(state);
  const delayMs = reply.by === 'age' ? jittered(AGED_RETRY_MS, spread) : FENCED_RETRY_MS;
  return [
    { ...state, stage: 'later', dueAtMs: now + delayMs, fencedBy: reply.by },
    state.fencedBy === reply.by ? [] : [{ kind: 'fenced', by: reply.by }],
  ];
}

function settled(
  before: FinalState,
  { reply, spread }: { reply: Exclude<SettleReply, { kind: 'fenced' }>; spread: number },
  now: number,
): Step {
  // A duplicate that was not emitted again may rest on an event that never left the outbox, so the first sweep asks again.
  const waitMs =
    reply.kind === 'duplicate' && !before.reEmit
      ? 0
      : Math.min(RE_EMIT_MAX_MS, RE_EMIT_FIRST_MS * 2 ** Math.min(before.reEmits, 10));
  const state: FinalState = {
    ...before,
    stage: before.acknowledgedAtMs === null ? 'owed' : 'kept',
    carriedBy: reply.kind === 'settled' ? (reply.from === 'reaped' ? 1 : 0) : before.carriedBy,
    reEmit: false,
    dueAtMs: now + jittered(waitMs, spread),
    failures: 0,
    acknowledgedAtMs: before.acknowledgedAtMs === null ? null : now,
    fencedBy: null,
  };
  const [next, actions] = acknowledged(state, now);
  return [next, [...actions, { kind: 'settled' }]];
}

/** The call may have reached Redis despite the error. From now on the node asks for the event again. */
function failed(state: FinalState, spread: number, now: number): FinalState {
  const delayMs = Math.min(RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(state.failures, 10));
  return {
    ...state,
    stage: 'later',
    reEmit: true,
    failures: state.failures + 1,
    dueAtMs: now + jittered(delayMs, spread),
  };
}

function due(state: FinalState): Step {
  if (state.stage === 'kept') return forgotten(state);
  if (state.stage === 'later') return idle({ ...state, stage: 'ready' });
  if (state.stage !== 'owed') return idle(state);
  return idle({ ...state, stage: 'ready', reEmit: true, reEmits: state.reEmits + 1 });
}

function replayed(state: FinalState): FinalState {
  if (state.stage === 'later') return { ...state, stage: 'ready' };
  const isSettled = state.stage === 'owed' || state.stage === 'kept';
  return isSettled ? { ...state, stage: 'ready', reEmit: true } : state;
}

/**
 * Decides whether an acknowledgement names the event that carries the final. After a duplicate that is unknown: seq 1 always carries it; seq 0, when
 * it was emitted again, was emitted together with a seq 1 if there is one, which is then in the outbox, too.
 */
function acknowledged(state: FinalState, now: number): Step {
  const seq = state.carriedBy ?? (state.seen.includes(1) ? 1 : 0);
  if (state.stage !== 'owed' || !state.seen.includes(seq)) return idle(state);
  return [{ ...state, stage: 'kept', acknowledgedAtMs: now }, [{ kind: 'acknowledged', seq }]];
}

function booked(before: FinalState, now: number): Step {
  const state = { ...before, acknowledgedAtMs: now };
  const actions: FinalAction[] = [{ kind: 'acknowledged', seq: state.carriedBy ?? 0 }];
  if (state.stage === 'owed') return [{ ...state, stage: 'kept' }, actions];
  if (state.stage !== 'later') return [state, actions];
  return [{ ...state, stage: 'forgotten' }, [...actions, { kind: 'forgotten' }]];
}

function forgotten(state: FinalState): Step {
  return [{ ...state, stage: 'forgotten' }, [{ kind: 'forgotten' }]];
}

function idle(state: FinalState): Step {
  return [state, []];
}

function jittered(ms: number, spread: number): number {
  return ms * (0.75 + spread / 2);
}
