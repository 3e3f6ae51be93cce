import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { FleetStore } from '@tollgate/keyspace';
import { randomBytes } from 'node:crypto';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { eventually } from '../../testing/eventually.ts';
import { SpeakingNode, type SpeakingNodeOptions } from '../../testing/speaking-node.ts';

const DECLARED = randomBytes(32).toString('base64url');
let plane: ControlPlane;
let fleet: FleetStore;
const running: SpeakingNode[] = [];
const admin = (method: string, path: string, body?: unknown) =>
  plane.call(method, path, { token: plane.adminToken, body });

async function startNode(
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

async function nodeNamed(name: string) {
  return (await admin('GET', `/proxy-nodes?q=${name}&page_size=100`)).body.data.find(
    (node: { name: string }) => node.name === name,
  );
}

async function isRegistered(name: string): Promise<{ id: number }> {
  await eventually(async () => expect(await nodeNamed(name)).toMatchObject({ state: 'online' }));
  return nodeNamed(name);
}

async function removed(...nodes: { id: number }[]): Promise<void> {
  for (const { id } of nodes) await admin('DELETE', `/proxy-nodes/${id}`);
}

beforeAll(async () => {
  plane = await startControlPlane({ NODE_CREDENTIALS: `declared=${DECLARED},other=` });
  fleet = plane.app.get(FleetStore);
}, 60_000);
afterAll(async () => {
  for (const node of running) node.stop();
  await plane?.stop();
});

describe('registration', () => {
  test('a node of NODE_CREDENTIALS is there from the start, and only its own credential proves it', async () => {
    expect(await nodeNamed('declared')).toMatchObject({ self_registered: false, state: 'offline' });
    expect(await nodeNamed('other')).toBeUndefined();
    const impostor = await startNode('declared');
    await eventually(async () =>
      expect((await admin('GET', '/admin/alerts')).body.data).toContainEqual(
        expect.objectContaining({ rule: 'bad_node_proof', subject: 'node:declared:0' }),
      ),
    );
    impostor.stop();
    await startNode('declared', { credential: DECLARED });
    await removed(await isRegistered('declared'));
  });

  test('a holder of the fleet credential registers itself and is set to serve', async () => {
    await startNode('self');
    const node = await isRegistered('self');
    expect(node).toMatchObject({
      self_registered: true,
      enabled: true,
      stopped: false,
      workers: [{ worker: 0, software: 'test' }],
    });
    await eventually(async () =>
      expect(await fleet.getDesired('self')).toEqual({ state: 'serve' }),
    );
    await removed(node);
  });

  test('a report with an invalid proof is ignored and raises an alert; a valid one resolves it', async () => {
    const impostor = await startNode('victim', { credential: 'x'.repeat(40) });
    await eventually(async () =>
      expect((await admin('GET', '/admin/alerts?rule=bad_node_proof')).body).toMatchObject({
        total: 1,
        data: [{ severity: 'critical', subject: 'node:victim:0' }],
      }),
    );
    expect(await nodeNamed('victim')).toBeUndefined();
    await eventually(async () =>
      expect(await fleet.getDesired('victim')).toEqual({ state: 'unknown' }),
    );
    impostor.stop();
    await startNode('victim');
    const node = await isRegistered('victim');
    await eventually(async () =>
      expect((await admin('GET', '/admin/alerts?rule=bad_node_proof')).body.total).toBe(0),
    );
    await removed(node);
  });

  test('a node added by an administrator speaks with its own credential only, shown once', async () => {
    const created = await admin('POST', '/proxy-nodes', {
      name: 'added',
      url: 'http://10.1.2.3:8788',
    });
    expect(created).toMatchObject({
      status: 201,
      body: { name: 'added', state: 'offline', credential: expect.stringMatching(/^tg-node-/) },
    });
    const { id, credential } = created.body;
    expect(JSON.stringify((await admin('GET', `/proxy-nodes/${id}`)).body)).not.toContain(
      credential,
    );
    expect(await admin('POST', '/proxy-nodes', { name: 'added' })).toMatchObject({
      status: 409,
      body: { code: 'node_name_taken' },
    });
    const thief = await startNode('added');
    await eventually(async () =>
      expect(
        (await admin('GET', '/admin/alerts?rule=bad_node_proof&subject=node:added:0')).body.total,
      ).toBe(1),
    );
    expect(await nodeNamed('added')).toMatchObject({ state: 'offline' });
    thief.stop();
    await startNode('added', { credential });
    await removed(await isRegistered('added'));
  });

  test('a worker shows how far Redis and its clock are from it; one of an earlier release shows neither', async () => {
    await startNode('measuring', {
      later: { format: 2, redis: { round_trip_ms: 0.42, clock_ahead_ms: -7 } },
    });
    await startNode('earlier');
    const workersOf = async (name: string): Promise<unknown> =>
      (await admin('GET', `/proxy-nodes/${(await isRegistered(name)).id}`)).body.workers;
    expect(await workersOf('measuring')).toMatchObject([
      { redis_round_trip_ms: 0.42, clock_ahead_ms: -7 },
    ]);
    expect(await workersOf('earlier')).toMatchObject([
      { redis_round_trip_ms: null, clock_ahead_ms: null },
    ]);
    await removed(await isRegistered('measuring'), await isRegistered('earlier'));
  });

  test('a deleted node stays away, until an administrator adds it again', async () => {
    await startNode('gone');
    await removed(await isRegistered('gone'));
    await eventually(async () =>
      expect(await fleet.getDesired('gone')).toEqual({ state: 'unknown' }),
    );
    await plane.dataSource.query('SELECT pg_sleep(1.5)');
    expect(await nodeNamed('gone')).toBeUndefined();
    const { credential } = (await admin('POST', '/proxy-nodes', { name: 'gone' })).body;
    await startNode('gone', { credential, worker: 1 });
    await eventually(async () =>
      expect(await fleet.getDesired('gone')).toEqual({ state: 'serve' }),
    );
    await removed(await isRegistered('gone'));
  });

  test('a self-registered node that stayed away for a day is forgotten, and may come back', async () => {
    const node = await startNode('visitor');
    const { id } = await isRegistered('visitor');
    node.stop();
    await fleet.removeReports('visitor');
    await plane.dataSource.query(
      `UPDATE proxy_nodes SET last_seen_at = now() - interval '25 hours' WHERE id = $1`,
      [id],
    );
    const { NodeRepository } = await import('./node-repository.ts');
    expect(await plane.app.get(NodeRepository).removeForgotten(plane.dataSource.manager)).toEqual([
      { id, name: 'visitor' },
    ]);
    await startNode('visitor');
    const again = await isRegistered('visitor');
    expect(again.id).not.toBe(id);
    await removed(again);
  });
});

describe('states', () => {
  test('what was wanted of a node before a change is not written after it', async () => {
    await startNode('changing');
    const node = await isRegistered('changing');
    const waiting = async (): Promise<number> =>
      (
        await plane.dataSource.query(
          "SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%proxy_nodes%FOR SHARE%'",
        )
      )[0].count;
    await plane.dataSource.transaction(async (tx) => {
      await tx.query('UPDATE proxy_nodes SET enabled = false WHERE id = $1', [node.id]);
      await fleet.setDesired('changing', { state: 'stopped' });
      await eventually(async () => expect(await waiting()).toBe(1));
      expect(await fleet.getDesired('changing')).toEqual({ state: 'stopped' });
    });
    await eventually(async () =>
      expect(await fleet.getDesired('changing')).toEqual({ state: 'disabled' }),
    );
    await removed(node);
  });

  test('toggle, stop and start reach the node through what is wanted of it and survive', async () => {
    await startNode('worker-a');
    const a = await isRegistered('worker-a');
    await startNode('worker-b');
    const b = await isRegistered('worker-b');
    expect((await admin('POST', `/proxy-nodes/${a.id}/toggle`)).body).toMatchObject({
      enabled: false,
      state: 'disabled',
    });
    expect(await fleet.getDesired('worker-a')).toEqual({ state: 'disabled' });
    expect(
      (await admin('POST', `/proxy-nodes/${a.id}/toggle`, { enabled: false })).body,
    ).toMatchObject({ enabled: false });
    expect((await admin('POST', `/proxy-nodes/${a.id}/toggle`)).body).toMatchObject({
      enabled: true,
      state: 'online',
    });
    expect((await admin('POST', `/proxy/stop?node_id=${b.id}`)).body.nodes).toMatchObject([
      { id: b.id, state: 'stopped' },
    ]);
    expect(await fleet.getDesired('worker-b')).toEqual({ state: 'stopped' });
    expect(await fleet.getDesired('worker-a')).toEqual({ state: 'serve' });
    await fleet.removeDesired('worker-b');
    await eventually(async () =>
      expect(await fleet.getDesired('worker-b')).toEqual({ state: 'stopped' }),
    );
    expect((await admin('POST', '/proxy/start')).body.nodes).toHaveLength(2);
    expect(await fleet.getDesired('worker-b')).toEqual({ state: 'serve' });
    expect((await admin('POST', '/proxy/stop?node_id=999999')).status).toBe(404);
    expect((await admin('GET', '/proxy/status')).body).toMatchObject({
      version: expect.any(Number),
      nodes: [{ name: 'worker-a' }, { name: 'worker-b' }],
    });
    await removed(a, b);
  });
});

describe('sync', () => {
  test('answers applied only for what every live worker proved, and says what the others do', async () => {
    const silent = await startNode('silent');
    const silentId = (await isRegistered('silent')).id;
    silent.stop();
    await startNode('good');
    await startNode('good', { worker: 1 });
    await startNode('deaf', { follows: false });
    await startNode('stubborn', { refuses: 'checksum mismatch' });
    const names = ['good', 'deaf', 'stubborn'];
    const nodes = await Promise.all(names.map(isRegistered));
    // The silent one must be seen as offline before the rest is asked: 10 s after its last report.
    await eventually(
      async () =>
        expect((await admin('GET', `/proxy-nodes/${silentId}`)).body.state).toBe('offline'),
      15_000,
    );
    await eventually(
      async () =>
        expect((await admin('GET', '/admin/alerts?rule=node_offline')).body.data).toMatchObject([
          { subject: `node:${silentId}` },
        ]),
      5_000,
    );
    await admin('POST', '/models', {
      name: 'for-sync',
      price: { price_per_million: '1' },
      is_on_shelf: true,
    });

    const one = await admin('POST', `/proxy-nodes/${nodes[0]?.id}/sync-config`);
    expect(one).toMatchObject({
      status: 200,
      body: {
        nodes: [
          {
            name: 'good',
            outcome: 'applied',
            version: one.body.version,
            applied_at: expect.any(String),
          },
        ],
      },
    });
    expect(await fleet.currentVersion()).toBe(one.body.version);

    const all = await admin('POST', '/proxy-nodes/sync-all');
    expect(all.body.version).toBe(one.body.version);
    expect(
      Object.fromEntries(
        all.body.nodes.map((node: { name: string; outcome: string }) => [node.name, node.outcome]),
      ),
    ).toEqual({ good: 'applied', deaf: 'timeout', stubborn: 'failed', silent: 'offline' });
    expect(all.body.nodes.find((node: { name: string }) => node.name === 'deaf')).toMatchObject({
      version: 0,
      applied_at: null,
    });

    expect((await admin('GET', '/proxy/health')).body).toMatchObject({ status: 'degraded' });
    const check = await admin('GET', '/proxy/config-check');
    const codes = check.body.problems.map((problem: { code: string }) => problem.code);
    expect(codes).toEqual(
      expect.arrayContaining([
        'model_without_route',
        'node_offline',
        'node_drift',
        'node_refuses_snapshot',
      ]),
    );
    expect(check.body.ok).toBe(false);
    await removed(...nodes, { id: silentId });
  }, 60_000);

  test('warns of a key that allows what names no model, and of no other', async () => {
    await admin('POST', '/models', { name: 'known_model', aliases: ['known-alias'] });
    const { body: key } = await admin('POST', '/keys', {
      name: 'mistyped',
      allowed_models: 'known_model,known-alias,known*,knownXmodel,kown*',
    });
    const { body: disabled } = await admin('POST', '/keys', {
      name: 'disabled',
      allowed_models: 'nothing-at-all',
    });
    await admin('POST', `/keys/${disabled.id}/disable`);
    const { problems } = (await admin('GET', '/proxy/config-check')).body;
    const found = problems.filter(
      ({ code }: { code: string }) => code === 'key_allows_unknown_model',
    );
    expect(found.map(({ message }: { message: string }) => message).toSorted()).toEqual([
      'a key allows "knownXmodel", which names no model',
      'a key allows "kown*", which names no model',
    ]);
    expect(found[0]).toMatchObject({ severity: 'warning', subject: { kind: 'key', id: key.id } });
  });

  test('of an unknown node is 404', async () => {
    expect((await admin('POST', '/proxy-nodes/999999/sync-config')).status).toBe(404);
  });
});

describe('in-memory tables', () => {
  test('are listed and paged per worker', async () => {
    const rows = Array.from({ length: 5 }, (_, index) => ({
      key: `k${index}`,
      value: { n: index },
    }));
    await startNode('memory', { tables: { upstream_health: rows, keys: [] } });
    await startNode('memory', { worker: 1, tables: { upstream_health: [] } });
    const node = await isRegistered('memory');
    await eventually(async () => expect((await nodeNamed('memory')).workers).toHaveLength(2));
    expect((await admin('GET', `/proxy/stats?node_id=${node.id}`)).body).toMatchObject({
      nodes: [
        {
          name: 'memory',
          worker: 0,
          outcome: 'answered',
          tables: [
            { table: 'upstream_health', entries: 5 },
            { table: 'keys', entries: 0 },
          ],
        },
        { worker: 1, outcome: 'answered' },
      ],
    });
    const page = await admin(
      'GET',
      `/proxy/stats/dict?node_id=${node.id}&table=upstream_health&page=2&page_size=2`,
    );
    expect(page.body).toMatchObject({
      table: 'upstream_health',
      page: 2,
      nodes: [
        { worker: 0, total: 5, rows: [{ key: 'k2' }, { key: 'k3' }] },
        { worker: 1, total: 0, rows: [] },
      ],
    });
    expect((await admin('GET', `/proxy/stats/dict?node_id=${node.id}`)).body.table).toBe(
      'upstream_health',
    );
    await removed(node);
  });
});
