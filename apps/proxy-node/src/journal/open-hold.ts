import type { UsageFinal } from '@tollgate/contracts';
import type { UsageBounds } from '@tollgate/metering';
import type { PriceVersion } from '@tollgate/snapshot';

/** Holds a price version with the weights by which this request is charged. */
export interface ChargedPrice extends Omit<PriceVersion, 'multipliers'> {
  /** Names the dearer services that the weights include. */
  premiums?: string[] | undefined;
}

/** Holds what settles a background answer without its request. */
export interface BackgroundRun {
  upstreamId: number;
  /** Names the credential whose account makes it; absent for the upstream's own. */
  credentialId?: number | undefined;
  /** Is the id by which the provider knows the answer. */
  responseId: string;
  /** Holds the bounds by which the upstream's report is judged. */
  bounds: UsageBounds;
  /** Lists the attempts of the request until its answer began. */
  attempts: UsageFinal['attempts'];
  traceparent?: string | undefined;
  /** Is the time in Unix ms at which the answer is cancelled. */
  untilMs: number;
}

/** Describes a request in the journal: who pays, what is held for it, and its price. */
export interface OpenHold {
  rid: string;
  accountId: number;
  keyHash: string;
  keyId: number;
  modelId: number;
  subscriptionId: number;
  /** Is the generation of the subscription when the hold was taken. */
  generation: number;
  /** Is the epoch of the shard that holds: `admit` returned it, or the hold was restored in it later. In any other epoch the hold is refused. */
  epoch: string;
  /** Holds the holds on budgets, as `readClaims` reads them; absent without any. */
  claims?: string | undefined;
  /** Is the price in force at admission. The journal keeps it, so that a lost request is charged by its own price. */
  price: ChargedPrice;
  /** Is the grant of `admit`, in charged tokens. */
  grantedTokens: number;
  /** It is from `HoldPlan.sliceTokens`: a stream's hold grows by slices, and beyond its bound only while the stream waits for it. */
  sliceTokens: number;
  boundTokens: number;
  /** Counts the plain prompt tokens that the hold covers; absent where the price has no tiers. */
  promptTokens?: number | undefined;
  isStream: boolean;
  startedAtMs: number;
  protocol: UsageFinal['protocol'];
  /** Is set when the answer is generated in the background and so outlives the request and this process. */
  background?: BackgroundRun | undefined;
}
