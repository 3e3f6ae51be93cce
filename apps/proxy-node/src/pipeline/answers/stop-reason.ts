import type { StopReason as HoldStop } from '../../usage/checkpoints/checkpoint-step.ts';

/** Names the reasons for which the gateway ends a request. */
export type StopReason = HoldStop | 'node_stopped';

/** A node that could not confirm the hold is why the answer ended, as one that was stopped is. */
export function outcomeOfStop(reason: StopReason): Exclude<StopReason, 'unconfirmed'> {
  return reason === 'unconfirmed' ? 'node_stopped' : reason;
}
