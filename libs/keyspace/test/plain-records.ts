import { NO_LIMITS, type LiveKey, type LiveSubscription } from '../src/index.ts';

/** An enabled key without limits. */
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

/** An active subscription, as it is after its purchase. */
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
