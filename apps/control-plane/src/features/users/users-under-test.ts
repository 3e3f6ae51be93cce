import { beforeAll } from '@jest/globals';
import { PASSWORD, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';

export let plane: ControlPlane;
let sequence = 0;

export const asAdmin = <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
) => plane.call(method, path, { token: plane.adminToken, ...(body === undefined ? {} : { body }) });
export const register = async () =>
  (
    await plane.call('POST', '/auth/register', {
      body: { username: `user${(sequence += 1)}`, password: PASSWORD },
    })
  ).body as { id: number; username: string };

/** The spec that imports the parts calls this. */
export function shareUsers(): void {
  beforeAll(async () => {
    plane = await sharedControlPlane();
  }, 60_000);
}
