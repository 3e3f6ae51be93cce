import type { CheckpointReply, RestoreReply } from '@tollgate/keyspace';
import type { OpenHold } from '../../journal/open-hold.ts';

const CHECKPOINT_INTERVAL_MS = 5_000;
/** A node that has not reached Redis for this share of the lease (45 s of 60) ends its streams, before another request may spend what they hold. */
const FENCE_AFTER_LEASES = 0.75;
const EXTEND_RETRY_MS = 500;
/** The restoration of a hold that Redis has lost is tried this often until its shard is filled. */
const RESTORE_RETRY_MS = 500;

/** `unconfirmed` means that the lease was not renewed in time, by a node without Redis or CPU; nothing is known about the access. */
export type StopReason = 'balance_exhausted' | 'access_revoked' | 'unconfirmed';

/** Holds the terms that stay the same while a hold is kept. */
export interface HoldTerms extends Pick<OpenHold, 'isStream' | 'sliceTokens' | 'boundTokens'> {
  readonly leaseMs: number;
  /** A stream whose hold is used up waits this long for a purchase of auto-recharge. */
  readonly rechargeWaitMs: number;
}

/** Holds the state of a running request's hold. Times are those of one clock. */
export interface HoldState {
  readonly terms: HoldTerms;
  readonly charged: number;
  readonly heldTokens: number;
  /** Is the time since which the stream waits for its hold to grow; null while it does not wait. */
  readonly waitsSinceMs: number | null;
  /** Is true while a call to Redis runs; there is one at a time. */
  readonly isAsking: boolean;
  /** Is the time of the last call to Redis about it. */
  readonly askedAtMs: number;
  readonly nextCheckpointAtMs: number;
  readonly nextExtensionAtMs: number;
  /** Is the time at which Redis last renewed the lease. */
  readonly renewedAtMs: number;
  /** Is true when its upstream generates the answer in the background: only its key, account or subscription end it. */
  readonly isDetached: boolean;
  /** Is true when nothing is held for the request any more although it continues. */
  readonly isReaped: boolean;
  readonly stopped: StopReason | null;
}

export type HoldEvent =
  /** The hold has its turn, with the charge so far and whether its epoch is known to be lost. */
  | { kind: 'turn'; charge: number; isEpochLost: boolean }
  /** The hold is used up, and the stream waits. */
  | { kind: 'waits' }
  | { kind: 'checkpointed'; reply: CheckpointReply; askedTokens: number }
  /** `reply` is null when the call could not be made yet. */
  | { kind: 'restored'; reply: RestoreReply | null }
  /** The call failed; whether Redis did anything is unknown. */
  | { kind: 'unanswered' }
  /** Redis was away and may have lost holds. */
  | { kind: 'look_again' }
  /** Its answer is generated in the background from now on. */
  | { kind: 'detached' }
  | { kind: 'released' };

export type HoldAction =
  | { kind: 'checkpoint'; extendTokens: number }
  | { kind: 'restore' }
  | { kind: 'grown' }
  | { kind: 'stop'; reason: StopReason }
  | { kind: 'recharge_due' }
  | { kind: 'epoch_lost' }
  | { kind: 'epoch_restored' };

type Step = readonly [HoldState, readonly HoldAction[]];

/** `spread` is between 0 and 1, so that streams that were admitted together do not all report together. */
export function startCheckpoints(
  terms: HoldTerms,
  { heldTokens, now, spread }: { heldTokens: number; now: number; spread: number },
): HoldState {
  return {
    terms,
    charged: 0,
    heldTokens,
    waitsSinceMs: null,
    isAsking: false,
    askedAtMs: Number.NEGATIVE_INFINITY,
    nextCheckpointAtMs: now + CHECKPOINT_INTERVAL_MS * (0.5 + spread / 2),
    nextExtensionAtMs: Number.NEGATIVE_INFINITY,
    renewedAtMs: now,
    isDetached: false,
    isReaped: false,
    stopped: null,
  };
}

/**
 * Keeps one hold alive and large enough, and decides when its stream must end. It is pure: `now` comes with each event, and the caller performs the
 * actions.
 */
export function checkpointStep(state: HoldState, event: HoldEvent, now: number): Step {
  switch (event.kind) {
    case 'turn':
      return turn(state, event, now);
    case 'waits':
      return askForSlice({ ...state, waitsSinceMs: now }, now);
    case 'checkpointed':
      return checkpointed({ ...state, isAsking: false }, event, now);
    case 'restored':
      return restored({ ...state, isAsking: false }, event.reply, now);
    case 'unanswered':
      return [
        {
          ...state,
          isAsking: false,
          // The next check comes before the next interval; a stream without an answer for long enough ends.
          nextCheckpointAtMs: Math.min(state.nextCheckpointAtMs, now + CHECKPOINT_INTERVAL_MS / 5),
        },
        [],
      ];
    case 'look_again':
      return [{ ...state, nextCheckpointAtMs: now }, []];
    case 'detached':
      return [{ ...state, isDetached: true }, []];
    case 'released':
      return [{ ...state, waitsSinceMs: null }, []];
    default:
      return event satisfies never;
  }
}

/** Returns whether the lease may have ended. Until then a hold cannot have been reaped. */
export function isLeaseOver({ renewedAtMs, terms }: HoldState, now: number): boolean {
  return now - renewedAtMs >= FENCE_AFTER_LEASES * terms.leaseMs;
}

/** Returns true if a turn would change nothing. That holds for most turns of most holds, which therefore cost no new state. */
export function isTurnIdle(
  state: HoldState,
  { charge, isEpochLost }: { charge: number; isEpochLost: boolean },
  now: number,
): boolean {
  return (
    charge <= state.charged &&
    !isEpochLost &&
    !isLeaseOver(state, now) &&
    (state.isAsking ||
      state.isReaped ||
      (now < state.nextCheckpointAtMs && wantedExtension(state, now) === 0))
  );
}

function turn(
  before: HoldState,
  { charge, isEpochLost }: { charge: number; isEpochLost: boolean },
  now: number,
): Step {
  const counted = charge > before.charged ? { ...before, charged: charge } : before;
  const isFenced = isLeaseOver(counted, now) && !counted.isDetached;
  const [state, ended] = isFenced ? stop(counted, 'unconfirmed') : idle(counted);
  if (state.isAsking || state.isReaped) return [state, ended];
  if (isEpochLost) {
    if (now - state.askedAtMs < RESTORE_RETRY_MS) return [state, ended];
    return [{ ...state, isAsking: true, askedAtMs: now }, [...ended, { kind: 'restore' }]];
  }
  const extendTokens = wantedExtension(state, now);
  if (extendTokens === 0 && now < state.nextCheckpointAtMs) return [state, ended];
  const [asking, asked] = checkpoint(state, extendTokens, now);
  return [asking, [...ended, ...asked]];
}

/** A stream asks for its next slice when less than half of one is left. */
function wantedExtension(
  { terms, heldTokens, charged, waitsSinceMs, nextExtensionAtMs, stopped }: HoldState,
  now: number,
): number {
  const { isStream, sliceTokens, boundTokens } = terms;
  if (!isStream || stopped || now < nextExtensionAtMs) return 0;
  if (waitsSinceMs !== null) return sliceOf(terms);
  if (heldTokens - charged >= sliceTokens / 2) return 0;
  return Math.max(0, Math.min(sliceTokens, boundTokens - heldTokens));
}

/** Returns at least one token, because a request without output of its own may still receive some. */
function sliceOf({ sliceTokens }: HoldTerms): number {
  return Math.max(1, sliceTokens);
}

function checkpoint(state: HoldState, extendTokens: number, now: number): Step {
  return [
    {
      ...state,
      isAsking: true,
      askedAtMs: now,
      nextCheckpointAtMs: now + CHECKPOINT_INTERVAL_MS,
      nextExtensionAtMs: extendTokens > 0 ? now + EXTEND_RETRY_MS : state.nextExtensionAtMs,
    },
    [{ kind: 'checkpoint', extendTokens }],
  ];
}

/** The bound does not limit this, because an upstream may count differently. */
function askForSlice(state: HoldState, now: number): Step {
  return state.isAsking ? idle(state) : checkpoint(state, sliceOf(state.terms), now);
}

function checkpointed(
  state: HoldState,
  { reply, askedTokens }: { reply: CheckpointReply; askedTokens: number },
  now: number,
): Step {
  const { askedAtMs } = state;
  switch (reply.kind) {
    case 'ok': {
      const { heldTokens, extendedTokens, isRechargeDue } = reply;
      const [next, actions] = extended(
        { ...state, heldTokens, renewedAtMs: askedAtMs },
        { askedTokens, extendedTokens, isRechargeDue },
        now,
      );
      return [next, isRechargeDue ? [{ kind: 'recharge_due' }, ...actions] : actions];
    }
    case 'stop':
      return stop({ ...state, renewedAtMs: askedAtMs }, 'access_revoked');
    case 'gone':
      // The hold was reaped while the request ran: nothing is held for it any more, and its final will be a correction.
      if (reply.state === 'reaped') return ended(state, 'unconfirmed');
      return reply.state === 'none' ? restore(state) : idle(state);
    case 'fenced': {
      const [restoring, actions] = restore(state);
      return [restoring, [{ kind: 'epoch_lost' }, ...actions]];
    }
    default:
      return reply satisfies never;
  }
}

/**
 * Takes a hold again that Redis lost, so that no other request spends its tokens meanwhile. Only while its lease cannot have run out: a hold that may have
 * been reaped before the loss has a charge in PostgreSQL already, and its final must go there. Not a checkpoint, which alone looks at key and
 * account: the next one comes when it would have come.
 */
function restore(state: HoldState): Step {
  return [{ ...state, isAsking: true }, [{ kind: 'restore' }]];
}

function restored(state: HoldState, reply: RestoreReply | null, now: number): Step {
  if (reply?.kind === 'restored') {
    const held = { ...state, heldTokens: reply.heldTokens, renewedAtMs: state.askedAtMs };
    const [next, actions] = extended(
      held,
      { askedTokens: 0, extendedTokens: 0, isRechargeDue: false },
      now,
    );
    return [next, [{ kind: 'epoch_restored' }, ...actions]];
  }
  if (reply?.kind === 'fenced') return [state, [{ kind: 'epoch_lost' }]];
  if (reply?.kind === 'gone' && reply.state === 'reaped') return ended(state, 'unconfirmed');
  if (reply?.kind === 'gone' && state.waitsSinceMs !== null) return ended(state, 'access_revoked');
  return idle(state);
}

/** A stream that waits continues with any tokens that it got. When it got none it ends, unless a purchase is due, for which it waits. */
function extended(
  before: HoldState,
  {
    askedTokens,
    extendedTokens,
    isRechargeDue,
  }: { askedTokens: number; extendedTokens: number; isRechargeDue: boolean },
  now: number,
): Step {
  const isWhole = askedTokens > 0 && extendedTokens === askedTokens;
  const state = isWhole ? { ...before, nextExtensionAtMs: 0 } : before;
  const { waitsSinceMs, terms } = state;
  if (waitsSinceMs === null) return idle(state);
  // The lease was being renewed when the stream began to wait.
  if (askedTokens === 0) return askForSlice(state, now);
  const isGivenTime = isRechargeDue && now - waitsSinceMs < terms.rechargeWaitMs;
  if (extendedTokens === 0 && isGivenTime) return idle(state);
  const going = { ...state, waitsSinceMs: null };
  return extendedTokens > 0 ? [going, [{ kind: 'grown' }]] : stop(going, 'balance_exhausted');
}

/** A background run costs the same whether tokens are held for it or not. */
function ended(state: HoldState, reason: StopReason): Step {
  return state.isDetached ? [{ ...state, isReaped: true }, []] : stop(state, reason);
}

/** Stops once; the first reason counts. */
function stop(state: HoldState, reason: StopReason): Step {
  if (state.stopped) return idle(state);
  return [{ ...state, stopped: reason, waitsSinceMs: null }, [{ kind: 'stop', reason }]];
}

function idle(state: HoldState): Step {
  return [state, []];
}
