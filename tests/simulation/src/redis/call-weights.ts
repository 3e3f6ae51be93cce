import type { FunctionName } from '../../../../libs/keyspace/test/past-the-stores.ts';

/** Weighs how often each function is drawn. */
export const CALL_WEIGHTS: Record<FunctionName, number> = {
  ...{
    admit: 32,
    access: 2,
    inquire: 3,
    checkpoint: 9,
    restore: 4,
    settle: 8,
    reap: 5,
    credit: 14,
  },
  ...{ withdraw: 2, repeat_withdrawal: 1, repeat_release: 2, repeat_reap: 2, unbooked_reaps: 1 },
  ...{
    put_key: 6,
    put_account: 6,
    put_subscription: 8,
    recount: 2,
    raise_budget: 1,
    reset_credits: 1,
    vouch: 1,
  },
  ...{ advance_epoch: 2, relay: 6, publish: 2 },
};
