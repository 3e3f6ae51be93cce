import { afterAll, beforeAll } from '@jest/globals';
import { ledgerOf } from '../../testing/ledger-under-test.ts';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';

export let plane: ControlPlane;

export let ledger: ReturnType<typeof ledgerOf>;

export let user: { id: number; token: string };

export const market = async () =>
  (await plane.call('GET', '/models/market?page_size=100', { token: user.token })).body.data;

/** Called by the spec that imports the parts: one control plane serves them all. */
export function shareModels(): void {
  beforeAll(async () => {
    plane = await startControlPlane();
    ledger = ledgerOf(plane);
    await ledger.initialiseShards();
    user = await ledger.account('0');
  }, 60_000);
  afterAll(() => plane?.stop());
}
