import { until } from '@tollgate/harness';
import { uuidv7 } from '../platform/http/visitor.ts';
import { FLEET_CREDENTIAL, type ControlPlane } from './control-plane-under-test.ts';
import { SpeakingNode } from './speaking-node.ts';

/** Starts a node that runs one request until it is stopped. Resolves once the control plane lists the request. */
export async function runOneRequest(
  plane: ControlPlane,
): Promise<{ rid: string; node: SpeakingNode }> {
  const rid = uuidv7(Date.now());
  const value = {
    ...{ account_id: 1, key_id: 1, model_id: 1, protocol: 'chat', is_stream: true },
    ...{ upstream_id: null, started_at: Date.now(), tokens: 0, is_ending: false },
  };
  const node = await new SpeakingNode({
    redisUrl: plane.services.redisUrl,
    name: 'runner',
    credential: FLEET_CREDENTIAL,
    tables: { requests: [{ key: rid, value }] },
  }).start();
  await until('the request is listed', async () => {
    const { body } = await plane.call('GET', '/running-requests', { token: plane.adminToken });
    return body.data.length === 1;
  });
  return { rid, node };
}
