import { beforeAll } from '@jest/globals';
import { UsageWorker } from '../features/usage/ingest/usage-worker.ts';
import type { ControlPlane } from './control-plane-under-test.ts';
import { ledgerOf } from './ledger-under-test.ts';
import { shareControlPlane, sharedControlPlane } from './shared-plane-under-test.ts';

export let plane: ControlPlane;
export let ledger: ReturnType<typeof ledgerOf>;
export let worker: UsageWorker;

/** Starts one control plane, its ledger and its usage worker, which serve all parts; the spec that imports them calls it. */
export function shareLedgerPlane(): void {
  shareControlPlane();
  beforeAll(async () => {
    plane = await sharedControlPlane();
    ledger = ledgerOf(plane);
    worker = plane.app.get(UsageWorker);
    await ledger.initialiseShards();
  }, 60_000);
}
