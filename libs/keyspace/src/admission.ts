/** What a node asks of `admit` and what it may be answered. All token amounts are charged tokens; all times Unix ms. */
export interface AdmitRequest {
  rid: string;
  accountId: number;
  /** SHA-256 hex of the presented key. */
  keyHash: string;
  modelId: number;
  modelName: string;
  priceVersionId: number;
  /** The full bound the node would like to hold. */
  wantTokens: number;
  /** Refuse below this: the prompt bound plus one token. */
  minTokens: number;
  /** Caller's address as 32 hex digits (IPv4 mapped), for the key's allow-list; '' when unknown. */
  addressHex: string;
  concurrencyMax: number;
  leaseMs: number;
  node: string;
}

export type RateWindow = 'rpm' | 'rph' | 'rpd';
export interface WindowState {
  window: RateWindow;
  limit: number;
  remaining: number;
  /** ms until the window's whole limit is available again. */
  resetMs: number;
}

export type AdmitReply =
  | { kind: 'admitted'; grantedTokens: number; availableTokens: number; keyId: number; subscriptionId: number; generation: number; windows: WindowState[] }
  /** The same rid was admitted before: a safe retry of the same call. */
  | { kind: 'duplicate'; state: 'open' | 'reaped' | 'done'; grantedTokens: number; keyId: number; subscriptionId: number; generation: number }
  | AccessDenied
  | { kind: 'not_subscribed' }
  | { kind: 'subscription_closing' }
  | { kind: 'concurrency_exceeded'; limit: number }
  | { kind: 'rate_limited'; window: RateWindow; retryAfterMs: number; windows: WindowState[] }
  /** `balance` itself is below minTokens. */
  | { kind: 'balance_too_low'; balance: number; subscriptionId: number }
  /** The balance would do, other holds are in the way. */
  | { kind: 'tokens_held'; balance: number; held: number }
  | { kind: 'fenced' };

export type AccessDenied =
  | { kind: 'key_unknown' }
  | { kind: 'key_disabled' }
  | { kind: 'key_expired' }
  | { kind: 'address_not_allowed' }
  | { kind: 'account_not_active'; status: string }
  | { kind: 'model_not_allowed' };

export type AccessReply =
  | { kind: 'allowed'; keyId: number; allowedModels: string; subscribedModelIds: number[] }
  | AccessDenied
  | { kind: 'fenced' };

export interface HoldRef {
  rid: string;
  accountId: number;
  modelId: number;
}

export interface CheckpointRequest extends HoldRef {
  keyHash: string;
  usedTokens: number;
  /** Additional tokens to hold; 0 = only report and renew. */
  extendTokens: number;
  leaseMs: number;
}
export type CheckpointReply =
  | { kind: 'ok'; heldTokens: number; extendedTokens: number }
  /** Key, account or subscription no longer allows it and drain is off: end the stream. */
  | { kind: 'stop'; heldTokens: number }
  | { kind: 'gone'; state: 'reaped' | 'done' | 'none' }
  | { kind: 'fenced' };

export interface SettleRequest extends HoldRef {
  chargeTokens: number;
  /** JSON text of the `UsageFinal`. */
  payload: string;
  /** Emit the events again although the hold is done (the acknowledgement never came). */
  reEmit: boolean;
}
export type SettleReply = { kind: 'settled'; balance: number; from: 'open' | 'reaped' | 'none' } | { kind: 'duplicate' } | { kind: 'fenced' };

export type ReapReply = { kind: 'reaped'; chargedTokens: number } | { kind: 'alive' } | { kind: 'not_open' } | { kind: 'fenced' };

export interface CreditRequest {
  accountId: number;
  modelId: number;
  subscriptionId: number;
  seq: number;
  deltaTokens: number;
}
export type CreditReply = { kind: 'applied'; balance: number } | { kind: 'duplicate'; seq: number } | { kind: 'gap'; seq: number } | { kind: 'fenced' };

export interface WithdrawRequest {
  accountId: number;
  modelId: number;
  subscriptionId: number;
  withdrawalId: string;
  /** Running streams may finish. */
  drain: boolean;
}
export type WithdrawReply = { kind: 'withdrawn'; tokens: number; held: number } | { kind: 'duplicate'; tokens: number } | { kind: 'not_found' } | { kind: 'fenced' };

export interface RelayBatch {
  shard: string;
  entries: import('@tollgate/contracts').RelayedEvent[];
  expiredHolds: string[];
  outboxLength: number;
}
export type RelayReply = ({ kind: 'leased' } & RelayBatch) | { kind: 'held_elsewhere'; leaseMs: number };
