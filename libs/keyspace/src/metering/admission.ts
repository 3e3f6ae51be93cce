import type { RateWindow, RelayedEvent } from '@tollgate/contracts';
import type { RateOwner } from '../records/live-limits.ts';
import type { NamedScopes, ScopeKind } from '../scope-value.ts';

/** Holds the arguments of `admit`, and below are its answers. All token amounts are charged tokens; all times are in Unix ms. */
export interface AccessRequest {
  accountId: number;
  keyHash: string;
  /** Has 32 hex digits, or is '' when unknown. */
  addressHex: string;
}

export interface InquiryRequest extends AccessRequest {
  /** Limits the inquiries a minute of a key whose rpm is lower. */
  limitAtLeast: number;
  /** Limits the inquiries a minute of a key without an rpm. */
  limitWithoutRpm: number;
  /** Is true for an inquiry that counts in the key's windows of requests too. The default is false. */
  isRequest?: boolean;
}

export interface AdmitRequest {
  /** Is the request id, a UUIDv7. */
  rid: string;
  accountId: number;
  /** Is the SHA-256 of the presented key, in hex. */
  keyHash: string;
  modelId: number;
  modelName: string;
  priceVersionId: number;
  /** Is the price of a million charged tokens in micro-units; undefined where it is not known: budgets in money then refuse. */
  pricePerMillion?: number | undefined;
  /** Is the full bound that the node would like to hold. */
  wantTokens: number;
  /** Is the prompt bound plus one token: with fewer tokens the request is refused. */
  minTokens: number;
  /** Counts the plain tokens of the prompt at most, for the limits of key and account. The default is 0. */
  promptTokens?: number;
  promptTokensMax?: number;
  /** Bounds the plain tokens that the hold can be used for, for budgets that count them: `base`, and `rate` for each million charged. By default it is not known: such budgets then refuse. */
  plainTokens?: { rate: number; base: number };
  /** Is the caller's address as 32 hex digits (IPv4 mapped), for the key's allow-list; '' when unknown. */
  addressHex: string;
  /** Limits the requests of one subscription at a time; 0 means no limit. */
  concurrencyMax: number;
  /** Counts the requests of the subscription that have ended on this node and whose settlement was not sent to Redis yet: they do not count as running. It is called right before the call: a settlement that was sent before it has been counted by Redis then. */
  endedHere?: () => number;
  leaseMs: number;
  /** Is the node address `<name>:<worker>`; the worker gets acknowledgements there. */
  node: string;
  /** Is false for a request that rates of requests counted when another model was to answer it. The default is true. */
  isCounted?: boolean;
  /** Is true where less than `wantTokens` would shorten the output: the answer is `recharge_due` instead, while a purchase is due that brings all of it. The default is false. */
  isWhole?: boolean;
  /** Names session and end user for budgets that count each of them by itself. The default is none. */
  scopes?: NamedScopes | undefined;
  /** Takes at most half of what is free; where `minTokens` is more than that, takes it and half of the rest. The default is false. */
  leavesHalf?: boolean;
}

/** Names a rate: whose, which window, and for which models. */
export type RateName = Pick<WindowState, 'window' | 'owner' | 'models'>;
export interface WindowState {
  window: RateWindow;
  /** Names the owner of the rate. */
  owner: RateOwner;
  /** Holds globs of the models that it counts; '' means all. */
  models: string;
  limit: number;
  remaining: number;
  /** Is the time in ms until the window's whole limit is available again. */
  resetMs: number;
}

export type AdmitReply =
  | {
      kind: 'admitted';
      grantedTokens: number;
      availableTokens: number;
      keyId: number;
      subscriptionId: number;
      generation: number;
      /** Is the expiry of the key; 0 means never. */ expiresAtMs: number;
      /** Limits the tokens of an answer that the key may have; 0 means no limit. */
      outputTokensMax: number;
      /** Is to be journalled: see HoldRef. */ epoch: string;
      /** Holds its claims on budgets, as `readClaims` reads them; '' without any. */
      claims: string;
      windows: WindowState[];
    }
  /** The same rid was admitted before: a safe retry of the same call. */
  | {
      kind: 'duplicate';
      /** The fields below are those of an open hold, else 0. */
      state: 'open' | 'reaped' | 'done';
      grantedTokens: number;
      keyId: number;
      subscriptionId: number;
      generation: number;
      claims: string;
      epoch: string;
    }
  | AccessDenied
  | { kind: 'not_subscribed' }
  | { kind: 'subscription_closing' }
  | { kind: 'concurrency_exceeded'; limit: number }
  /** Goes by the window that needs longest: after retryAfterMs, and not a millisecond before, the request fits every window. */
  | { kind: 'rate_limited'; rate: RateName; retryAfterMs: number; windows: WindowState[] }
  /** The prompt, by `promptTokensMax`, is above the bound of the key. */
  | { kind: 'input_too_long'; limit: number }
  /** The prompt, by `promptTokensMax`, is above the whole limit of this rate, so that no wait helps. */
  | { kind: 'prompt_above_rate'; rate: RateName; limit: number }
  /** `balance` itself is below minTokens. `dueTokens`: what auto-recharge is due to buy; it does not make the request fit. */
  | { kind: 'balance_too_low'; balance: number; subscriptionId: number; dueTokens: number }
  /** The balance would do, other holds are in the way. */
  | { kind: 'tokens_held'; balance: number; held: number; dueTokens: number }
  | BudgetExceeded
  /** The budget counts each session or end user, and refuses a request that names none. */
  | { kind: 'value_required'; budgetId: number; scope: ScopeKind }
  /** Auto-recharge is armed and due, and what it buys makes the request fit. */
  | { kind: 'recharge_due' }
  | { kind: 'fenced' };

/** Says that the rest of a budget is too small for the request. Amounts are in the budget's unit, in micro-units for money. */
export interface BudgetExceeded {
  kind: 'budget_exceeded';
  /** Counts the charged tokens that the budget has left. */
  leftTokens: number;
  budgetId: number;
  unit: 'charged_tokens' | 'tokens' | 'money' | 'requests';
  limit: number;
  used: number;
  held: number;
  /** Unix ms at which its period ends, or enough has left its window for the request to fit; null without periods. */
  endsAtMs: number | null;
  /** Is set where it counts each of these by itself: the amounts are those of the request's own. */
  scope: ScopeKind | null;
  /** Another model may answer: one of the model's `failover.fallbacks`. */
  fallsBack: boolean;
}

export type AccessDenied =
  | { kind: 'key_unknown' }
  | { kind: 'key_disabled' }
  | { kind: 'key_expired' }
  | { kind: 'address_not_allowed' }
  | { kind: 'account_not_active'; status: string }
  | { kind: 'model_not_allowed' };

/** Answers an inquiry: a look at access, or a full window of inquiries. */
export type InquiryReply = AccessReply | Extract<AdmitReply, { kind: 'rate_limited' }>;

export type AccessReply =
  | { kind: 'allowed'; keyId: number; allowedModels: string; subscribedModelIds: number[] }
  | AccessDenied
  | { kind: 'fenced' };

export interface HoldRef {
  rid: string;
  accountId: number;
  modelId: number;
  /** Is the epoch under which the hold was taken. When it is given, a shard that was rebuilt since answers `fenced`: the final then goes to the control plane's journal endpoint, so that no usage is booked twice. When it is absent, the epoch that this process knows is used. */
  epoch?: string;
}

export interface CheckpointRequest extends HoldRef {
  keyHash: string;
  /** Is the address of the node that follows the request now, as in `AdmitRequest`. */
  node: string;
  usedTokens: number;
  /** Holds the claims that `admit` returned. They are signed together with the use. */
  claims?: string | undefined;
  /** Counts the plain tokens of the output so far, for the rates of key and account. The default is 0. */
  outputTokens?: number;
  /** Counts the additional tokens to hold; 0 means that the call only reports and renews. */
  extendTokens: number;
  leaseMs: number;
}
export type CheckpointReply =
  /** `isRechargeDue` says that less than asked was there, and auto-recharge is due to buy more. */
  | { kind: 'ok'; heldTokens: number; extendedTokens: number; isRechargeDue: boolean }
  /** Key, account or subscription no longer allows it and drain is off: end the stream. */
  | { kind: 'stop'; heldTokens: number }
  | { kind: 'gone'; state: 'reaped' | 'done' | 'none' }
  | { kind: 'fenced' };

/** Describes the whole of a hold that Redis has lost. `epoch` is that of the shard now, journalled before the call: the final goes there. */
export interface RestoreRequest extends Required<HoldRef> {
  subscriptionId: number;
  keyId: number;
  priceVersionId: number;
  generation: number;
  /** Holds its claims on budgets, which it has again; '' without any, as by default. */
  claims?: string | undefined;
  /** Is the node address, as in `AdmitRequest`. */
  node: string;
  /** Is the amount that it held. Less is held if others have taken it meanwhile; the least is 0. */
  wantTokens: number;
  usedTokens: number;
  leaseMs: number;
}
export type RestoreReply =
  | { kind: 'restored'; heldTokens: number }
  /** `none`: there is no such subscription any more. */
  | { kind: 'gone'; state: 'reaped' | 'done' | 'none' }
  | { kind: 'fenced' };

export interface SettleRequest extends HoldRef {
  chargeTokens: number;
  /** Counts plain tokens for the rates of key and account: all, and without those that were read from a cache. The default is 0. */
  ratedTokens?: { all: number; uncached: number };
  /** Is the JSON text of the `UsageFinal`. */
  payload: string;
  /** Holds its claims on budgets, for the case that Redis has no trace of its hold; '' without any, as by default. */
  claims?: string | undefined;
  /** Emits the events again although the hold is done (the acknowledgement never came). */
  reEmit: boolean;
}
export type SettleReply =
  | { kind: 'settled'; balance: number; from: 'open' | 'reaped' | 'none' }
  | { kind: 'duplicate' }
  /**
   * Redis cannot tell whether this was settled: hand the final to the control plane's journal endpoint. `epoch`: the shard has another one, so
   * it has lost more than this. `age`: it has no trace of a request old enough for its marker to have expired (14 min).
   */
  | { kind: 'fenced'; by: 'epoch' | 'age' };

export type ReapReply =
  | { kind: 'reaped'; chargedTokens: number }
  | { kind: 'alive' }
  | { kind: 'not_open' }
  | { kind: 'fenced' };

export interface CreditRequest {
  accountId: number;
  modelId: number;
  subscriptionId: number;
  seq: number;
  /** Is negative only for a reconciliation. */
  deltaTokens: number;
}
export type CreditReply =
  | { kind: 'applied'; balance: number }
  | { kind: 'duplicate'; seq: number }
  | { kind: 'gap'; seq: number }
  | { kind: 'fenced' };

export interface WithdrawRequest {
  accountId: number;
  modelId: number;
  subscriptionId: number;
  /** Is a UUIDv7: it is the rid of the withdraw event, and its time names that event's partition. */
  withdrawalId: string;
  /** Is true when running streams may finish. */
  drain: boolean;
  /** Is the number of the last credit that the ledger has given: without it the balance is not all there is to withdraw. */
  creditSeq: number;
}
export type WithdrawReply =
  | { kind: 'withdrawn'; tokens: number; held: number }
  | { kind: 'duplicate'; tokens: number }
  | { kind: 'behind' }
  | { kind: 'not_found' }
  | { kind: 'fenced' };

export interface RelayRequest {
  /** Names the relaying process: unique per process, the same from poll to poll. */
  owner: string;
  leaseMs: number;
  /** Lists the outbox ids of the last batch, now safely in the queue; at most 1,000. */
  relayedIds: readonly string[];
  entriesMax: number;
  /** Limits the sum of payload bytes; one entry is always returned. */
  bytesMax: number;
  expiredHoldsMax: number;
}
export interface RelayBatch {
  /** Is the shard's name, such as `s03`. */
  shard: string;
  entries: RelayedEvent[];
  /** Lists the holds to be reaped. */
  expiredHolds: HoldRef[];
  outboxLength: number;
}
export type RelayReply =
  | ({ kind: 'leased' } & RelayBatch)
  | { kind: 'held_elsewhere'; leaseMs: number };
