import { beforeAll } from '@jest/globals';
import {
  ledgerOf,
  type EventParts,
  subscribedAccount,
} from '../../../testing/ledger-under-test.ts';
import type { ControlPlane } from '../../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../../testing/shared-plane-under-test.ts';
import { UsageWorker } from '../ingest/usage-worker.ts';

export let plane: ControlPlane;

export let ledger: ReturnType<typeof ledgerOf>;

export let worker: UsageWorker;

export const subscribed = (): Promise<EventParts> => subscribedAccount(plane, 1_000_000);

export const get = (path: string, token: string) => plane.call('GET', path, { token });

/** Called by the spec that imports the parts: one control plane and its worker serve them all. */
export function shareUsageApi(): void {
  beforeAll(async () => {
    plane = await sharedControlPlane();
    ledger = ledgerOf(plane);
    worker = plane.app.get(UsageWorker);
    await ledger.initialiseShards();
  }, 60_000);
}
