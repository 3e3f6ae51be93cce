import { afterAll, beforeAll, expect } from '@jest/globals';
import { FleetStore } from '@tollgate/keyspace';
import { randomBytes } from 'node:crypto';
import { eventually } from '@tollgate/harness';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { SpeakingNode, type SpeakingNodeOptions } from '../../testing/speaking-node.ts';

export const DECLARED = randomBytes(32).toString('base64url');
export let plane: ControlPlane;
export let fleet: FleetStore;
const running: SpeakingNode[] = [];
export const admin = <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
) => plane.call(method, path, { token: plane.adminToken, body });

export async function startNode(
  name: string,
  more: Partial<SpeakingNodeOptions> = {},
): Promise<SpeakingNode> {
  const node = await new SpeakingNode({
    redisUrl: plane.services.redisUrl,
    name,
    credential: plane.environment['FLEET_CREDENTIAL'] ?? '',
    ...more,
  }).start();
  running.push(node);
  return node;
}

export async function nodeNamed(name: string) {
  return (await admin('GET', `/proxy-nodes?q=${name}&page_size=100`)).body.data.find(
    (node: { name: string }) => node.name === name,
  );
}

export async function isRegistered(name: string): Promise<{ id: number }> {
  await eventually(async () => expect(await nodeNamed(name)).toMatchObject({ state: 'online' }));
  const node = await nodeNamed(name);
  if (!node) throw new Error(`node ${name} left the list`);
  return node;
}

export async function removed(...nodes: { id: number }[]): Promise<void> {
  for (const { id } of nodes) await admin('DELETE', `/proxy-nodes/${id}`);
}

/** Starts one control plane, which serves all parts, and whose nodes end with it; the spec that imports the parts calls it. */
export function shareSpeakingNodes(): void {
  beforeAll(async () => {
    plane = await startControlPlane({ NODE_CREDENTIALS: `declared=${DECLARED},other=` });
    fleet = plane.app.get(FleetStore);
  }, 60_000);
  afterAll(async () => {
    for (const node of running) node.stop();
    await plane?.stop();
  });
}
