import type { UsageFinal } from '@tollgate/contracts';
import type { UsageBounds } from '@tollgate/metering';
import type { PriceVersion } from '@tollgate/snapshot';

/** A price version with its weights as this request is charged by them. */
export interface ChargedPrice extends Omit<PriceVersion, 'multipliers'> {
  /** The dearer services that are in the weights. */
  premiums?: string[] | undefined;
}

/** An answer that its upstream makes in the background: what settles it without its request. */
export interface BackgroundRun {
  upstreamId: number;
  /** Native. */
  responseId: string;
  /** By which the upstream's report is judged. */
  bounds: UsageBounds;
  /** The attempts of the request until its answer began. */
  attempts: UsageFinal['attempts'];
  traceparent?: string | undefined;
  /** Unix ms; the answer is cancelled then. */
  untilMs: number;
}

/** A request as the journal opens it: who pays, what is held for it, at which price. */
export interface OpenHold {
  rid: string;
  accountId: number;
  keyHash: string;
  keyId: number;
  modelId: number;
  subscriptionId: number;
  /** The generation of the subscription when the hold was taken. */
  generation: number;
  /** The epoch of the shard that holds: `admit` answered it, or the hold was restored in it later. Any other epoch refuses the hold. */
  epoch: string;
  /** On budgets, as `readClaims` reads them; absent without any. */
  claims?: string | undefined;
  /** In force at admission; travels through the journal, so that a lost request is charged by its own price. */
  price: ChargedPrice;
  /** The grant of `admit`, in charged tokens. */
  grantedTokens: number;
  /** `HoldPlan.sliceTokens` and `HoldPlan.boundTokens`: a stream's hold grows by slices, beyond its bound only while the stream waits for it. */
  sliceTokens: number;
  boundTokens: number;
  /** Plain tokens of the prompt that the hold covers; absent where the price has no tiers. */
  promptTokens?: number | undefined;
  isStream: boolean;
  startedAtMs: number;
  protocol: UsageFinal['protocol'];
  /** Set once the answer is made in the background: it outlives the request, and this process. */
  background?: BackgroundRun | undefined;
}
