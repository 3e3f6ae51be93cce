import { readFileSync } from 'node:fs';
import path from 'node:path';
import { closeClient } from '@tollgate/audit';
import { startTollgate, type Tollgate, until } from '@tollgate/harness';
import { checkOut, ROOT } from '@tollgate/tools';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { chatStatus } from './fleet-view.ts';
import { closeBooks, setScene, SteadyLoad, type Scene } from './steady-load.ts';

/** Is the release that upgrades start from; its commit is null until it is made. A clone may lack its tag. */
const { release, commit } = z
  .object({ release: z.string(), commit: z.string().nullable() })
  .parse(JSON.parse(readFileSync(path.join(import.meta.dirname, 'first-release.json'), 'utf8')));
const PLANES = ['control-plane', 'control-plane-2'];
const NODES = ['node-1', 'node-2'];
const BUILD_MS = 600_000;

const previous = ((): string | undefined => {
  if (commit === null) {
    console.warn(
      `There is no release to start from: first-release.json names no commit of ${release}.`,
    );
    return undefined;
  }
  try {
    return checkOut(commit);
  } catch (error) {
    console.warn(`The commit ${commit} is not in this clone (shallow?): ${String(error)}`);
    return undefined;
  }
})();
const testBeside = previous === undefined ? test.skip : test;

let tollgate: Tollgate;
let load: SteadyLoad;
/** Holds the addresses that clients use: like a load balancer, they leave a node before it is restarted. */
let origins: string[];
let scene: Scene;
beforeAll(async () => {
  if (previous === undefined) return;
  tollgate = await startTollgate({
    nodes: 2,
    controlPlanes: 2,
    checkout: previous,
  });
  // Processes that only the tests need run today's release.
  await tollgate.restart('demo-upstream', { checkout: ROOT });
  origins = [...tollgate.nodeUrls];
  scene = await setScene(tollgate);
  load = new SteadyLoad(origins, scene, { clients: 4 });
  await served(50);
}, BUILD_MS);
afterAll(async () => {
  await load?.stop();
  closeClient();
  await tollgate?.stop();
}, 60_000);

async function served(more: number): Promise<void> {
  const wanted = load.count('completed') + more;
  await until(`${more} more requests`, () => load.count('completed') >= wanted, 60_000);
}
const failed = () =>
  load.records.filter(({ ending }) => ending !== 'completed' && ending !== 'hung_up');
async function roll(names: readonly string[], checkout: string): Promise<void> {
  for (const name of names) {
    const others = tollgate.nodeUrls.filter((_, index) => NODES[index] !== name);
    origins.splice(0, origins.length, ...others, ...others.slice(0, 2 - others.length));
    await served(20);
    await tollgate.restart(name, { checkout });
    const url = tollgate.nodeUrls[NODES.indexOf(name)];
    if (url !== undefined)
      await until(`${name} serves`, async () => (await chatStatus(url, scene)) === 200, 60_000);
    origins.splice(0, origins.length, ...tollgate.nodeUrls);
    await served(40);
    expect({ name, failed: failed() }).toEqual({ name, failed: [] });
  }
}
const openAlerts = async (): Promise<string[]> =>
  (await tollgate.admin.list('/admin/alerts?status=open')).map(({ rule }) => String(rule));

testBeside(
  'this release takes over from the one before, control planes first, one process after the other, without a failed request',
  async () => {
    await roll(PLANES, ROOT);
    await roll(NODES, ROOT);
    expect(await openAlerts()).toEqual([]);
  },
  300_000,
);

testBeside(
  'and hands back to it, nodes first',
  async () => {
    await roll(NODES, previous ?? '');
    await roll(PLANES.toReversed(), previous ?? '');
    // The older node cannot read journal lines of the later one; that they were booked is for the books to say.
    expect((await openAlerts()).filter((rule) => rule !== 'journal_set_aside')).toEqual([]);
  },
  300_000,
);

testBeside(
  'after both, every request is charged once and the books close',
  async () => {
    await closeBooks(tollgate, await load.stop(), { wereKilled: false });
  },
  120_000,
);
