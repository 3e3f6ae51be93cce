import { beforeAll } from '@jest/globals';
import { ledgerOf } from '../../testing/ledger-under-test.ts';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';

export let plane: ControlPlane;

export let ledger: ReturnType<typeof ledgerOf>;

export const post = (
  path: string,
  token: string,
  body: unknown,
  headers: Record<string, string> = {},
) => plane.call('POST', path, { token, body, headers });

/** Called by the spec that imports the parts: one control plane and its ledger serve them all. */
export function shareSubscriptions(): void {
  beforeAll(async () => {
    plane = await sharedControlPlane();
    ledger = ledgerOf(plane);
    await ledger.initialiseShards();
  }, 60_000);
}
