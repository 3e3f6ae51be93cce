import type { CheckpointReply } from '@tollgate/keyspace';
import {
  startCheckpoints,
  type HoldAction,
  type HoldEvent,
  type StopReason,
} from '../usage/checkpoints/checkpoint-step.ts';

export const TERMS = {
  isStream: true,
  sliceTokens: 500,
  boundTokens: 9_000,
  leaseMs: 60_000,
  rechargeWaitMs: 2_000,
};

/** Is the state of a hold that was renewed at 0: its next checkpoint is due at 2,500. */
export const STARTED = startCheckpoints(TERMS, { heldTokens: 1_000, now: 0, spread: 0 });

export const WAITS: HoldEvent = { kind: 'waits' };

export const replied = (reply: CheckpointReply, askedTokens = 0): HoldEvent => ({
  kind: 'checkpointed',
  reply,
  askedTokens,
});

export const granted = (
  heldTokens: number,
  askedTokens = 0,
  extendedTokens = 0,
  isRechargeDue = false,
) => replied({ kind: 'ok', heldTokens, extendedTokens, isRechargeDue }, askedTokens);

export const checkpoint = (extendTokens = 0): HoldAction => ({ kind: 'checkpoint', extendTokens });

export const stop = (reason: StopReason): HoldAction => ({
  kind: 'stop',
  reason,
});
