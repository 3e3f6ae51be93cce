import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  createCustomer,
  createRoutedModel,
  startTollgate,
  subscribeWithKey,
  type RoutedModel,
  type Tollgate,
  letPass,
  until,
} from '@tollgate/harness';
import { z } from 'zod';
import { fleetStatus, syncOutcomes } from '../../fleet/src/fleet-view.ts';

/** Real nodes of two worker processes each run over real Redis and PostgreSQL: the state that an administrator sees must be the state they run. */
let tollgate: Tollgate;
let model: RoutedModel;
/** This model has one upstream, so that nothing hides its failure. */
let single: RoutedModel;
let key: string;

const dumpAnswer = z.looseObject({
  nodes: z.array(z.looseObject({ name: z.string(), worker: z.number(), outcome: z.string() })),
});

beforeAll(async () => {
  tollgate = await startTollgate({ nodes: 2, workers: 2 });
  model = await createRoutedModel(tollgate);
  single = await createRoutedModel(tollgate, { protocols: ['openai'] });
  key = await subscribeWithKey(await createCustomer(tollgate), {
    modelIds: [model.id, single.id],
    tokens: 100_000,
  });
}, 60_000);
afterAll(() => tollgate?.stop(), 30_000);

const status = () => fleetStatus(tollgate);
async function nodeId(name: string): Promise<number> {
  return (await status()).nodes.find((node) => node.name === name)?.id ?? 0;
}
const outcomes = () => syncOutcomes(tollgate);
/** 0 = nothing listens. */
async function chatStatus(
  nodeUrl: string | undefined,
  { prompt = '@demo tokens=2', of = model } = {},
): Promise<number> {
  const answer = await fetch(`${nodeUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: of.name, messages: [{ role: 'user', content: prompt }] }),
  }).catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.status ?? 0;
}
describe('a change of routing', () => {
  test('is applied by every worker of every node when sync-all says so', async () => {
    expect(await outcomes()).toEqual({ 'node-1': 'applied', 'node-2': 'applied' });
    const now = await status();
    const { version } = now;
    const running = now.nodes.flatMap((node) =>
      node.workers.map((worker) => ({ version: worker.version, checksum: worker.checksum })),
    );
    expect(running).toEqual(Array.from({ length: 4 }, () => ({ version, checksum: now.checksum })));
    for (const url of tollgate.nodeUrls) expect(await chatStatus(url)).toBe(200);
  });

  test('reaches every worker by itself within seconds, and a rollback takes it back', async () => {
    const before = (await status()).version;
    await tollgate.admin.call('POST', `/models/${model.id}/disable`);
    await until('every worker answers 404', async () =>
      (await Promise.all(tollgate.nodeUrls.map((url) => chatStatus(url)))).every(
        (code) => code === 404,
      ),
    );
    await tollgate.admin.call('POST', `/snapshots/${before}/rollback`);
    await until('every worker answers 200', async () =>
      (await Promise.all(tollgate.nodeUrls.map((url) => chatStatus(url)))).every(
        (code) => code === 200,
      ),
    );
    await tollgate.admin.call('POST', `/models/${model.id}/enable`);
    await tollgate.admin.call('POST', '/snapshots/unpin');
    expect(await outcomes()).toEqual({ 'node-1': 'applied', 'node-2': 'applied' });
  });
});

describe('a node that died', () => {
  test('is never reported as applied, although its last report says so; restarted it is again', async () => {
    await Promise.all([tollgate.kill('node-2'), tollgate.kill('node-2.1')]);
    const first = await outcomes();
    expect(first['node-1']).toBe('applied');
    // The status of the two depends on the time of its last report.
    expect(['timeout', 'offline']).toContain(first['node-2']);
    await until('node-2 is offline', async () =>
      (await status()).nodes.some((node) => node.name === 'node-2' && node.state === 'offline'),
    );
    expect(await outcomes()).toEqual({ 'node-1': 'applied', 'node-2': 'offline' });
    await tollgate.restart('node-2');
    await tollgate.restart('node-2.1');
    expect(await outcomes()).toEqual({ 'node-1': 'applied', 'node-2': 'applied' });
  }, 60_000);
});

describe('stop, start and toggle', () => {
  test('take all workers of a node out of service and back, and outlive its restart', async () => {
    const id = await nodeId('node-1');
    await tollgate.admin.call('POST', `/proxy/stop?node_id=${id}`);
    await until(
      'both workers of node-1 answer 503',
      async () =>
        (await chatStatus(tollgate.nodeUrls[0])) === 503 &&
        (await chatStatus(tollgate.nodeUrls[1])) === 503,
    );
    expect(await chatStatus(tollgate.nodeUrls[2])).toBe(200);
    await tollgate.kill('node-1');
    // Resolves when the process is ready, which a stopped node never is.
    const restarted = tollgate.restart('node-1');
    await until('node-1 answers 503', async () => (await chatStatus(tollgate.nodeUrls[0])) === 503);
    await tollgate.admin.call('POST', '/proxy/start');
    await restarted;
    await until('node-1 answers 200', async () => (await chatStatus(tollgate.nodeUrls[0])) === 200);
    await tollgate.admin.call('POST', `/proxy-nodes/${id}/toggle`);
    await until('node-1 answers 503', async () => (await chatStatus(tollgate.nodeUrls[0])) === 503);
    await tollgate.admin.call('POST', `/proxy-nodes/${id}/toggle`);
    await until('node-1 answers 200', async () => (await chatStatus(tollgate.nodeUrls[0])) === 200);
  }, 60_000);
});

test("workers' in-memory tables are shown without a secret", async () => {
  await chatStatus(tollgate.nodeUrls[0]);
  const stats = dumpAnswer.parse(await tollgate.admin.call('GET', '/proxy/stats'));
  expect(
    stats.nodes.map(({ name, worker, outcome }) => `${name}:${worker} ${outcome}`).toSorted(),
  ).toEqual(['node-1:0 answered', 'node-1:1 answered', 'node-2:0 answered', 'node-2:1 answered']);
  const tables = z.array(z.object({ table: z.string() }).loose()).parse(stats.nodes[0]?.['tables']);
  expect(tables.length).toBeGreaterThan(0);
  for (const { table } of tables) {
    const text = JSON.stringify(
      await tollgate.admin.call('GET', `/proxy/stats/dict?table=${table}`),
    );
    expect(text).not.toContain(key);
    expect(text).not.toMatch(/"v1\.[\w-]{16}\.|upstream-[0-9a-f]{10}"/);
  }
});

test('an upstream that a node rests raises an alert, until it answers again', async () => {
  const alerts = async (): Promise<string[]> =>
    (await tollgate.admin.list('/admin/alerts?rule=upstream_failing')).map((alert) =>
      String(alert['subject']),
    );
  for (let call = 0; call < 16; call += 1)
    await chatStatus(tollgate.nodeUrls[0], { prompt: '@demo mode=500', of: single });
  await until('the alert is raised', async () => (await alerts()).length > 0, 25_000);
  await until(
    'the alert is resolved',
    async () => {
      await chatStatus(tollgate.nodeUrls[0], { of: single });
      await letPass(500, 'the node asks a resting upstream as seldom as clients do');
      return (await alerts()).length === 0;
    },
    60_000,
  );
}, 90_000);
