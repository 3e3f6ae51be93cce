import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { authAbility, NODE_ABILITIES, READ_FORMATS } from '@tollgate/contracts';
import { FleetStore } from '@tollgate/keyspace';
import type { SnapshotDocument } from '@tollgate/snapshot';
import { eventually } from '@tollgate/harness';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { SpeakingNode } from '../../testing/speaking-node.ts';

let plane: ControlPlane;
let fleet: FleetStore;
const running: SpeakingNode[] = [];
const OLDER = NODE_ABILITIES.filter(
  (ability) => !['speaks_vertex', authAbility('azure')].includes(ability),
);
const ENTRA = {
  type: 'azure',
  tenant: 'contoso.example',
  client_id: '00000000-0000-4000-8000-000000000001',
  client_secret: 'secret',
};

async function startNode(name: string, abilities: readonly string[]): Promise<void> {
  const node = new SpeakingNode({
    redisUrl: plane.services.redisUrl,
    name,
    credential: plane.environment['FLEET_CREDENTIAL'] ?? '',
    reports: { abilities: [...abilities, ...READ_FORMATS] },
  });
  running.push(await node.start());
}
const admin = <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
) => plane.call(method, path, { token: plane.adminToken, body });
async function document(): Promise<SnapshotDocument | undefined> {
  const verdict = await fleet.fetchSnapshot((await fleet.currentVersion()) ?? 0);
  return verdict?.kind === 'ok' ? verdict.snapshot.document : undefined;
}
async function published(): Promise<string[]> {
  return (await document())?.upstreams.map(({ name }) => name).toSorted() ?? [];
}
beforeAll(async () => {
  plane = await startControlPlane();
  fleet = plane.app.get(FleetStore);
}, 60_000);
afterAll(async () => {
  for (const node of running) node.stop();
  await plane?.stop();
});

test('an upstream is published once every node has reported that it can use it, and withdrawn for one that cannot', async () => {
  await startNode('newer', NODE_ABILITIES);
  const upstream = (name: string, protocol: string) =>
    admin('POST', '/upstreams', { name, protocol, base_url: 'https://api.example.com/v1' });
  await upstream('plain', 'openai');
  await admin('POST', '/upstreams', {
    name: 'later',
    protocol: 'vertex',
    base_url: 'https://aiplatform.googleapis.com/v1/projects/demo-project/locations/global',
  });
  await admin('POST', '/upstreams', {
    name: 'entra',
    protocol: 'azure',
    base_url: 'https://api.example.com/v1',
    auth: ENTRA,
  });
  await eventually(async () => expect(await published()).toEqual(['entra', 'later', 'plain']));

  await startNode('older', OLDER);
  await eventually(async () => expect(await published()).toEqual(['plain']));
  const { body } = await admin('GET', '/proxy/config-check');
  expect(JSON.stringify(body)).toContain('upstream_unspoken');

  running.pop()?.stop();
  const found = await admin('GET', '/proxy-nodes?q=older');
  await admin('DELETE', `/proxy-nodes/${found.body.data[0].id}`);
  await eventually(async () => expect(await published()).toEqual(['entra', 'later', 'plain']));
});
