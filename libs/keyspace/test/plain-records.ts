import { NO_LIMITS, type LiveKey, type LiveSubscription } from '../src/index.ts';

/** Returns an enabled key without limits. */
export const plainKey = (of: Pick<LiveKey, 'accountId' | 'keyHash' | 'id'>): LiveKey => ({
  ...of,
  status: 'enabled',
  expiresAtMs: 0,
  ...NO_LIMITS,
  allowedModels: '',
  allowlist: '',
  drain: false,
  revision: 1,
  budgets: '',
});

/** Returns an active subscription, as it is after its purchase. */
export const plainSubscription = (
  of: Pick<LiveSubscription, 'accountId' | 'modelId' | 'id'>,
): LiveSubscription => ({
  ...of,
  status: 'active',
  generation: 1,
  drain: false,
  revision: 1,
  withdrawalId: null,
});
