import { beforeAll } from '@jest/globals';
import { ledger, plane, shareLedgerPlane } from '../../testing/ledger-plane-under-test.ts';

export { ledger, plane } from '../../testing/ledger-plane-under-test.ts';

export let user: { id: number; token: string };

export const market = async () =>
  (await plane.call('GET', '/models/market?page_size=100', { token: user.token })).body.data;

/** The spec that imports the parts calls this: one control plane and one customer serve them all. */
export function shareModels(): void {
  shareLedgerPlane();
  beforeAll(async () => {
    user = await ledger.account('0');
  });
}
