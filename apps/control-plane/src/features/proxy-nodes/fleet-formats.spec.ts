import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { FORMATS, NODE_ABILITIES } from '@tollgate/contracts';
import { FleetStore } from '@tollgate/keyspace';
import { randomUUID } from 'node:crypto';
import { eventually } from '@tollgate/harness';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { SpeakingNode } from '../../testing/speaking-node.ts';

/** A control plane of this release runs beside nodes and a control plane of the release before. */
/** Is the number that this release would write, if its reports had a second format. */
const SECOND = 2;
let plane: ControlPlane;
let fleet: FleetStore;
const running: SpeakingNode[] = [];

async function startNode(name: string, abilities: string[]): Promise<SpeakingNode> {
  const node = await new SpeakingNode({
    redisUrl: plane.services.redisUrl,
    name,
    credential: plane.environment['FLEET_CREDENTIAL'] ?? '',
    reports: { abilities },
  }).start();
  running.push(node);
  return node;
}
const desired = async (name: string) => (await fleet.listDesired()).get(name);

beforeAll(async () => {
  Object.assign(FORMATS, { report: SECOND });
  plane = await startControlPlane();
  fleet = plane.app.get(FleetStore);
}, 60_000);
afterAll(async () => {
  Object.assign(FORMATS, { report: 1 });
  for (const node of running) node.stop();
  await plane?.stop();
});

/** Is a state without formats: a node reports in the first one. */
const SERVES_IN_THE_FIRST = { state: 'serve', credentials: [expect.any(String)] };

test('a node is asked to write a new format once it reports that it reads it', async () => {
  await startNode('newer', [...NODE_ABILITIES, `report:${SECOND}`]);
  await eventually(async () =>
    expect(await desired('newer')).toMatchObject({
      state: 'serve',
      formats: { report: SECOND },
    }),
  );
});

test('while a control plane of the release before runs, no node writes it; once that is gone, nodes do again', async () => {
  const older = randomUUID();
  await fleet.writeControlPlane(older, {
    software: 'tollgate/0.0.1',
    reads: { ...FORMATS, report: 1 },
    reported_at: Date.now(),
  });
  await eventually(async () => expect(await desired('newer')).toEqual(SERVES_IN_THE_FIRST));
  await fleet.removeControlPlanes(older);
  await eventually(async () =>
    expect(await desired('newer')).toMatchObject({ formats: { report: SECOND } }),
  );
});

test('while a node of the release before is registered, no node writes it, and that node is sent nothing that it cannot read', async () => {
  const older = await startNode('older', [...NODE_ABILITIES]);
  await eventually(async () => {
    expect(await desired('older')).toEqual(SERVES_IN_THE_FIRST);
    expect(await desired('newer')).toEqual(SERVES_IN_THE_FIRST);
  });
  older.stop();
  const { body } = await plane.call('GET', '/proxy-nodes?q=older', { token: plane.adminToken });
  await plane.call('DELETE', `/proxy-nodes/${body.data[0].id}`, { token: plane.adminToken });
  await eventually(async () =>
    expect(await desired('newer')).toMatchObject({ formats: { report: SECOND } }),
  );
});
