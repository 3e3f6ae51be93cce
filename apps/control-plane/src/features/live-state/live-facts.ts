import type { SubscriptionRef } from '@tollgate/keyspace';

export interface Withdrawn {
  userId: number;
  modelId: number;
  subscriptionId: number;
  withdrawalId: string;
  /** Charged tokens WITHDRAW took out of Redis; to be booked and refunded. */
  tokens: number;
}

/** Credits of this subscription have reached Redis. */
export class CreditsApplied {
  constructor(readonly subscriptionId: number) {}
}

/** Redis counts credits of this subscription that PostgreSQL has not given, or has a record of a later revision than its row. */
export class RedisAhead {
  constructor(readonly subscription: SubscriptionRef & { id: number }) {}
}

/** Redis gave out the tokens of a subscription. Published until it is handled. */
export class TokensWithdrawn {
  constructor(readonly withdrawn: Withdrawn) {}
}
