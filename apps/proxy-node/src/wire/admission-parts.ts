import { nodeAddress } from '@tollgate/keyspace';
import { Admitter } from '../pipeline/admission/admit.ts';
import { DenyCache } from '../pipeline/admission/deny-cache.ts';
import { RechargeWaits } from '../pipeline/admission/recharge-waits.ts';
import type { Foundation } from './foundation.ts';

export type AdmissionParts = ReturnType<typeof openAdmission>;

/** Returns the parts that decide if a request may run, with the memory of refusals. */
export function openAdmission({ config, store, recorder, log }: Foundation) {
  const denials = new DenyCache(config.DENY_CACHE_MAX);
  const waits = new RechargeWaits({
    waitMs: config.RECHARGE_WAIT_MS,
    waitersMax: config.RECHARGE_WAITERS_MAX,
    hint: (hint) => recorder.refusedForFunds(hint),
  });
  const admitter = new Admitter({
    store,
    recorder,
    denials,
    waits,
    limits: {
      concurrencyMax: config.CONCURRENCY_PER_SUBSCRIPTION_MAX,
      leaseMs: config.HOLD_LEASE_MS,
      sliceOutputTokens: config.STREAM_SLICE_OUTPUT_TOKENS,
    },
    node: nodeAddress(config.NODE_NAME, config.NODE_WORKER),
    log,
  });
  return { admitter, denials, waits };
}
