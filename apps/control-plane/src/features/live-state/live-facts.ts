import type { SubscriptionRef } from '@tollgate/keyspace';

export interface Withdrawn {
  userId: number;
  modelId: number;
  subscriptionId: number;
  withdrawalId: string;
  /** Counts the charged tokens that WITHDRAW took out of Redis, which are to be booked and refunded. */
  tokens: number;
}

/** Is published when credits of this subscription have reached Redis. */
export class CreditsApplied {
  constructor(readonly subscriptionId: number) {}
}

/** Is published when Redis counts credits of this subscription that PostgreSQL has not given, or has a later revision of its record. */
export class RedisAhead {
  constructor(readonly subscription: SubscriptionRef & { id: number }) {}
}

/** Is published until it is handled when Redis gave out the tokens of a subscription. */
export class TokensWithdrawn {
  constructor(readonly withdrawn: Withdrawn) {}
}
