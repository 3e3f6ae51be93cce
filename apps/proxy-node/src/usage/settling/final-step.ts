import type { SettleReply } from '@tollgate/keyspace';
import type { FencedBy } from '../metering-port.ts';

const RETRY_FIRST_MS = 100;
const RETRY_MAX_MS = 5_000;
const FENCED_RETRY_MS = 5_000;
/** A final that is too old for Redis is retried this seldom: it stays too old unless Redis' clock was wrong. */
const AGED_RETRY_MS = 300_000;
/** Not acknowledged so long after it was settled: the event is emitted again (docs/design/metering.md#journal), then at growing intervals, so that a control plane that is away for an hour is not buried in copies. */
const RE_EMIT_FIRST_MS = 8_000;
const RE_EMIT_MAX_MS = 300_000;

/**
 * `ready` waits for a free call, `later` for its time to try again. `owed` is in Redis and not acknowledged.
 * `kept` is acknowledged, and Redis may still lose it.
 */
export type FinalStage = 'ready' | 'settling' | 'later' | 'owed' | 'kept' | 'forgotten';

/** A final on its way from the journal to PostgreSQL. Times are those of one clock. */
export interface FinalState {
  readonly stage: FinalStage;
  /** Number of the event that carries this final. The reply says it; null while it is unknown. Acknowledging seq 0 of a reaped hold must not forget its final. */
  readonly carriedBy: number | null;
  /** Acknowledged event numbers, while `carriedBy` is unknown. */
  readonly seen: readonly number[];
  /** The next call asks Redis to emit the event again. */
  readonly reEmit: boolean;
  /** The time at which a `later` or `owed` final is due. */
  readonly dueAtMs: number;
  readonly failures: number;
  readonly reEmits: number;
  /** The time of the acknowledgement, or of the last time that Redis took it since: Redis may lose that too. */
  readonly acknowledgedAtMs: number | null;
  /** The reason of Redis' last permanent refusal; null without one. */
  readonly fencedBy: FencedBy | null;
}

/** `spread` between 0 and 1: finals that fail together are not tried again together. */
export type FinalEvent =
  /** A call of `settle` starts. */
  | { kind: 'started' }
  | { kind: 'replied'; reply: SettleReply; spread: number }
  /** The call failed: whether Redis did anything is unknown. */
  | { kind: 'failed'; spread: number }
  /** Its time has come: to try again, to be emitted again, or to be forgotten. */
  | { kind: 'due' }
  /** Redis was away and may have lost its last writes. */
  | { kind: 'replay' }
  | { kind: 'acknowledged'; seq: number }
  /** It went to PostgreSQL without Redis. */
  | { kind: 'booked' };

export type FinalAction =
  | { kind: 'settled' }
  | { kind: 'acknowledged'; seq: number }
  | { kind: 'fenced'; by: FencedBy }
  | { kind: 'forgotten' };

type Step = readonly [FinalState, readonly FinalAction[]];

/** One from before a restart may have been settled then: it is emitted again. */
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

/** It was certainly not sent to Redis. */
export function isUnsent({ failures, reEmit }: FinalState): boolean {
  return failures === 0 && !reEmit;
}

/** Brings one final into Redis and keeps it until PostgreSQL has it. Pure: `now` comes with each event, and the calls and actions are the caller's to do. */
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
  // A duplicate that was not asked to be emitted again may rest on an event that was never seen to leave the outbox: the first sweep asks again.
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
 * An acknowledgement counts when it names the event that carries the final. After a duplicate that is unknown: seq 1 always carries it;
 * seq 0, once it was emitted again, was emitted together with a seq 1 if there is one, and that one is in the outbox too.
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
