import type { FundsHint, TokenUsage, UsageFinal } from '@tollgate/contracts';
import type { PriceVersion } from '@tollgate/snapshot';
import type { FailOpen } from './fail-open.ts';

/** What the pipeline knows of metering: open a hold, count, settle. Implemented by the journal, the settler and the checkpointer of this folder. */
export interface Books {
  /** Journals the admission; from here on every way out must settle. */
  open(hold: OpenHold): HoldHandle;
  /** Why new requests must be refused now (journal unwritable, Redis away, backlog over its limit), or null. With `redis_away` `failOpen` has the last word. */
  refusal(): 'metering_unavailable' | 'redis_away' | 'backlog_full' | null;
  /** What may be admitted while Redis does not answer; off unless the operator turned it on. */
  readonly failOpen: Pick<FailOpen, 'isOn' | 'remember' | 'forget' | 'knows' | 'admit'>;
  /** Requests of the subscription that have ended and whose settlement was not sent yet: to Redis they still run. */
  endedUnsent(subscription: { accountId: number; modelId: number }): number;
  /** A request is refused, or waits, for want of tokens: auto-recharge may look at once. Returns at once. */
  refusedForFunds(hint: FundsHint): void;
}

/** A price version with its weights as this request is charged by them. */
export interface ChargedPrice extends Omit<PriceVersion, 'multipliers'> {
  /** The dearer services that are in the weights. */
  premiums?: string[] | undefined;
}

export interface OpenHold {
  rid: string;
  accountId: number;
  keyHash: string;
  keyId: number;
  modelId: number;
  subscriptionId: number;
  /** Of the subscription when the hold was taken. */
  generation: number;
  /** Of the shard that holds: as `admit` answered it, later as the hold was restored in. Any other refuses what was held before. */
  epoch: string;
  /** In force at admission; travels through the journal, so that a lost request is charged by its own price. */
  price: ChargedPrice;
  /** What `admit` granted, in charged tokens. */
  grantedTokens: number;
  /** `HoldPlan.sliceTokens` and `HoldPlan.boundTokens`: a stream's hold grows by slices, beyond its bound only while the stream waits for it. */
  sliceTokens: number;
  boundTokens: number;
  isStream: boolean;
  startedAtMs: number;
  protocol: UsageFinal['protocol'];
}

export interface HoldHandle {
  /**
   * Says where the usage so far can be read. Call it once, when there is something to count. `source` is asked every 100 ms for the
   * journal and before a checkpoint; never after `settle`. So a chunk costs nothing here, and tokenising is done in batches.
   */
  count(source: () => TokenUsage): void;
  /** Output tokens the hold still pays for beside this usage: below zero when it is overdrawn, Infinity where output is free. */
  room(usage: TokenUsage): number;
  /** It covers all that the request can cost while the upstream keeps to the limits it was given. */
  isBoundHeld(): boolean;
  /**
   * The hold is used up and the stream waits: asks for a slice at once, also beyond the bound, as an upstream may count otherwise than we do.
   * `listener` is called once the hold has grown; when it cannot, `onStop` is.
   */
  grow(listener: () => void): void;
  /** Called once, when a checkpoint says that the stream must end. At once, when that was decided before. */
  onStop(listener: (reason: 'balance_exhausted' | 'access_revoked') => void): void;
  /** The final is in the journal when this returns; it is settled in the background, with retries. The first call wins; later ones do nothing. */
  settle(final: UsageFinal): void;
}
