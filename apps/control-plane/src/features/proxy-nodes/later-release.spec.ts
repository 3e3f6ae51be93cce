import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { FORMATS, NODE_ABILITIES, READ_FORMATS } from '@tollgate/contracts';
import { eventually } from '@tollgate/harness';
import { FleetStore } from '@tollgate/keyspace';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { SpeakingNode } from '../../testing/speaking-node.ts';
import { NodeRegistry } from './node-registry.ts';

/** The control plane of this process is of a later release, whose reports have a second format; the built one is of the release before. */
const MAIN = path.join(import.meta.dirname, '../../../dist/main.js');
const LATER = 2;
const NAME = 'rolled-back';

let later: ControlPlane;
let node: SpeakingNode | undefined;
let earlier: ChildProcess | undefined;
beforeAll(async () => {
  Object.assign(FORMATS, { report: LATER });
  later = await startControlPlane();
}, 60_000);
afterAll(async () => {
  earlier?.kill();
  Object.assign(FORMATS, { report: 1 });
  node?.stop();
  await later?.stop();
});

async function replaceNode(abilities: string[]): Promise<void> {
  node?.stop();
  node = await new SpeakingNode({
    redisUrl: later.services.redisUrl,
    name: NAME,
    credential: later.environment['FLEET_CREDENTIAL'] ?? '',
    reports: { abilities },
  }).start();
}
const formats = async () =>
  (await later.app.get(FleetStore).listDesired()).get(NAME)?.formats ?? {};

function startEarlier(level: 'silent' | 'info') {
  const env = { PATH: process.env.PATH, ...later.environment, LOG_LEVEL: level };
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  earlier = child;
  return child;
}
const planes = async () => [...(await later.app.get(FleetStore).listControlPlanes()).keys()];

test('an earlier control plane that is started before the nodes are replaced refuses, names the order, and takes part in nothing', async () => {
  await replaceNode([...NODE_ABILITIES, `report:${LATER}`]);
  await eventually(async () => expect(await formats()).toEqual({ report: LATER }));
  const before = await planes();
  const child = startEarlier('silent');
  const [errors, [status]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect(errors).toContain(
    `The control plane cannot start:\nNodes write formats of a later release, which this one cannot read: ${NAME} (report ${LATER}); nothing was changed.`,
  );
  expect(errors).toContain('docs/admin-guide.md#upgrade');
  expect(status).toBe(1);
  expect(await planes()).toEqual(before);
  expect(await formats()).toEqual({ report: LATER });
}, 60_000);

const LATER_STATE = { state: 'serve', formats: { report: LATER } } as const;

test.each([
  ['beside the later one', async () => {}],
  [
    'beside a state in Redis for a node that was never registered',
    () => later.app.get(FleetStore).setDesired('planted', LATER_STATE),
  ],
  [
    'although no later one runs that would change their states',
    async () => {
      await later.app.get(NodeRegistry).onApplicationShutdown();
      await later.app.get(FleetStore).setDesired(NAME, LATER_STATE);
    },
  ],
])(
  'an earlier control plane starts after the nodes are replaced, %s',
  async (_name, prepare) => {
    await replaceNode([...NODE_ABILITIES, ...READ_FORMATS]);
    await eventually(async () => expect(await formats()).toEqual({}));
    await prepare();
    const child = startEarlier('info');
    try {
      for await (const line of createInterface(child.stdout))
        if (line.includes('control plane is listening')) break;
      expect(child.exitCode).toBeNull();
      await eventually(async () => expect(await planes()).toHaveLength(2));
    } finally {
      child.kill();
      await once(child, 'exit');
    }
  },
  60_000,
);
