import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Epochs, FleetStore, LiveRecords, primariesOf } from '@tollgate/keyspace';
import type { SnapshotDocument } from '@tollgate/snapshot';
import { eventually } from '@tollgate/harness';
import { loadConfig } from '../../config.ts';
import { createApp } from '../../create-app.ts';
import { createPino } from '../../platform/logging/logger.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import {
  send,
  startControlPlane,
  type ControlPlane,
} from '../../testing/control-plane-under-test.ts';

let plane: ControlPlane;
let fleet: FleetStore;
let modelId: number;
let upstreamId: number;
const admin = <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
) => plane.call(method, path, { token: plane.adminToken, body });

async function inRedis(): Promise<{ version: number; document: SnapshotDocument }> {
  const version = (await fleet.currentVersion()) ?? 0;
  const verdict = version > 0 ? await fleet.fetchSnapshot(version) : null;
  if (verdict?.kind !== 'ok')
    throw new Error(`nothing readable is published: ${JSON.stringify(verdict)}`);
  return verdict.snapshot;
}

beforeAll(async () => {
  plane = await startControlPlane();
  fleet = plane.app.get(FleetStore);
  modelId = (
    await admin('POST', '/models', {
      name: 'chatty',
      price: { price_per_million: '1' },
      is_on_shelf: true,
    })
  ).body.id;
  upstreamId = (
    await admin('POST', '/upstreams', {
      name: 'main',
      protocol: 'openai',
      base_url: 'https://api.example.com/v1',
      api_key: 'sk-canary',
    })
  ).body.id;
  await admin('POST', '/models/pricing', { model_id: modelId, price_per_million: '2' });
  await admin('POST', '/routing', { model_id: modelId, upstream_id: upstreamId });
}, 60_000);
afterAll(() => plane?.stop());

describe('publication', () => {
  test('follows every change by itself', async () => {
    await eventually(async () => {
      const { document } = await inRedis();
      expect(document.routes).toMatchObject([
        { model_id: modelId, upstream_id: upstreamId, upstream_model: 'chatty' },
      ]);
      expect(document.models).toMatchObject([
        {
          name: 'chatty',
          prices: expect.arrayContaining([expect.objectContaining({ weight_input: 1_000_000 })]),
        },
      ]);
    });
    await admin('PUT', `/upstreams/${upstreamId}`, { enabled: false });
    await eventually(async () =>
      expect((await inRedis()).document).toMatchObject({ upstreams: [], routes: [] }),
    );
    await admin('PUT', `/upstreams/${upstreamId}`, { enabled: true });
    await eventually(async () => expect((await inRedis()).document.routes).toHaveLength(1));
  });

  test('gives no new version to a change that changes nothing', async () => {
    const { version } = await inRedis();
    await admin('PUT', `/upstreams/${upstreamId}`, { enabled: true });
    await eventually(async () => {
      const [settings] = await plane.dataSource.query(
        'SELECT change_seq = published_seq AS done FROM fleet_settings',
      );
      expect(settings.done).toBe(true);
    });
    expect((await inRedis()).version).toBe(version);
  });

  test('takes up a change whose process died right after the commit', async () => {
    // A process that dies after its commit leaves exactly this: the row and the raised change_seq, and no publication scheduled.
    await plane.dataSource.query(`UPDATE upstreams SET name = 'renamed' WHERE id = $1`, [
      upstreamId,
    ]);
    await plane.dataSource.query('UPDATE fleet_settings SET change_seq = change_seq + 1');
    await eventually(async () =>
      expect((await inRedis()).document.upstreams[0]?.name).toBe('renamed'),
    );
  });

  test('many administrators at once end in one version that holds all their changes', async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        admin('POST', '/routing', {
          model_id: modelId,
          upstream_id: upstreamId,
          upstream_model: `variant-${index}`,
          priority: 1,
        }),
      ),
    );
    await eventually(async () => expect((await inRedis()).document.routes).toHaveLength(21));
  });
});

describe('history', () => {
  test('is listed, read without secrets and compared', async () => {
    const list = await admin('GET', '/snapshots?page_size=2');
    expect(list).toMatchObject({
      status: 200,
      body: { page_size: 2, data: [{ pinned: false }, {}] },
    });
    const [newest, older] = list.body.data;
    const one = await admin('GET', `/snapshots/${newest.version}`);
    expect(one.body.document.upstreams[0]).toMatchObject({ has_api_key: true });
    expect(JSON.stringify(one.body)).not.toContain('sealed');
    expect((await admin('GET', `/snapshots/${older?.version}/diff`)).body).toMatchObject({
      from: older?.version,
      to: newest.version,
    });
    expect(
      (await admin('GET', `/snapshots/${newest.version}/diff?to=${newest.version}`)).body,
    ).toMatchObject({ routes: { added: [], removed: [], changed: [] } });
    expect((await admin('GET', '/snapshots/999999')).status).toBe(404);
  });

  test('a rollback publishes the old document as a new version, pins it, and unpinning brings the current configuration back', async () => {
    const before = await inRedis();
    await admin('PUT', `/upstreams/${upstreamId}`, { api_key: 'sk-other', name: 'changed' });
    await eventually(async () =>
      expect((await inRedis()).document.upstreams[0]?.name).toBe('changed'),
    );
    const changed = await inRedis();
    expect(
      (await admin('GET', `/snapshots/${before.version}/diff?to=${changed.version}`)).body.upstreams
        .changed,
    ).toEqual([
      {
        id: upstreamId,
        name: 'changed',
        changes: [{ path: 'name', from: 'renamed', to: 'changed' }, { path: 'sealed_api_key' }],
      },
    ]);

    const rolledBack = await admin('POST', `/snapshots/${before.version}/rollback`);
    expect(rolledBack).toMatchObject({
      status: 200,
      body: { rollback_of: before.version, pinned: true },
    });
    expect(rolledBack.body.version).toBeGreaterThan(changed.version);
    expect(await inRedis()).toMatchObject({
      version: rolledBack.body.version,
      document: before.document,
    });
    expect((await admin('GET', '/admin/alerts?rule=snapshot_pinned')).body).toMatchObject({
      total: 1,
      data: [{ message: expect.stringContaining('POST /snapshots/unpin') }],
    });

    await admin('PUT', `/upstreams/${upstreamId}`, { name: 'waiting' });
    for (const path of ['/proxy/sync-config', '/proxy-nodes/sync-all'] as const) {
      expect((await admin('POST', path)).body).toMatchObject({
        version: rolledBack.body.version,
        pinned_version: rolledBack.body.version,
      });
    }

    expect(await admin('POST', '/snapshots/unpin')).toMatchObject({
      status: 200,
      body: { pinned: false },
    });
    for (const path of ['/proxy/sync-config', '/proxy-nodes/sync-all'] as const)
      expect((await admin('POST', path)).body.pinned_version).toBeNull();
    expect((await inRedis()).document.upstreams[0]?.name).toBe('waiting');
    expect((await admin('GET', '/admin/alerts?rule=snapshot_pinned')).body.total).toBe(0);
  });
});

describe('a Redis that lost everything', () => {
  test('is filled again from PostgreSQL: snapshot, epochs, live records; an alert says so while it lasts', async () => {
    const { id: userId } = await plane.createUser('survivor');
    const records = plane.app.get(LiveRecords);
    await eventually(async () =>
      expect(await records.getAccount(userId)).toMatchObject({ status: 'active' }),
    );
    const { version } = await inRedis();
    const epochs = plane.app.get(Epochs);
    const before = await epochs.read('s00');
    await Promise.all(primariesOf(plane.app.get(REDIS)).map((primary) => primary.flushall()));
    await eventually(async () => {
      expect(await inRedis()).toMatchObject({ version });
      for (const shard of ['s00', 's01', 's02', 's03'])
        expect(await epochs.read(shard)).not.toBeNull();
      expect(await records.getAccount(userId)).toMatchObject({ status: 'active' });
    });
    expect(await epochs.read('s00')).not.toBe(before);
    await eventually(async () =>
      expect(
        (await admin('GET', '/admin/alerts?rule=redis_data_lost&status=resolved')).body.total,
      ).toBe(4),
    );
  });

  test('a shard whose filling was cut short is filled again', async () => {
    const epochs = plane.app.get(Epochs);
    await epochs.beginRebuild('s01', 'died-here');
    expect(await epochs.read('s01')).toBeNull();
    await eventually(async () => expect(await epochs.read('s01')).not.toBeNull());
  });
});

test('two replicas publish and fill together as one', async () => {
  const config = loadConfig(plane.environment);
  const replica = await createApp(config, createPino('silent'));
  await replica.listen(0, '127.0.0.1');
  const origin = await replica.getUrl();
  try {
    const name = (index: number) => ({
      token: plane.adminToken,
      body: { name: `by-both-${index}` },
    });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0
          ? plane.call('PUT', `/upstreams/${upstreamId}`, name(index))
          : send(`${origin}/admin-api/upstreams/${upstreamId}`, 'PUT', name(index)),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const [row] = await plane.dataSource.query('SELECT name FROM upstreams WHERE id = $1', [
      upstreamId,
    ]);
    await eventually(async () =>
      expect((await inRedis()).document.upstreams[0]?.name).toBe(row.name),
    );
    await Promise.all(primariesOf(plane.app.get(REDIS)).map((primary) => primary.flushall()));
    const epochs = plane.app.get(Epochs);
    await eventually(async () => {
      for (const shard of ['s00', 's01', 's02', 's03']) {
        const [stored] = await plane.dataSource.query(
          'SELECT epoch FROM shard_epochs WHERE shard = $1',
          [shard],
        );
        expect(await epochs.read(shard)).toBe(stored.epoch);
      }
      expect((await inRedis()).document.upstreams[0]?.name).toBe(row.name);
    });
    const repeated = await plane.dataSource.query(
      'SELECT a.version FROM snapshots a JOIN snapshots b ON b.version = (SELECT max(version) FROM snapshots WHERE version < a.version) AND b.checksum = a.checksum WHERE a.rollback_of IS NULL',
    );
    expect(repeated).toEqual([]);
  } finally {
    await replica.close();
  }
});

test('a PostgreSQL restored from a backup never gives a version out twice', async () => {
  const { version } = await inRedis();
  await plane.dataSource.query('UPDATE snapshots SET rollback_of = NULL');
  await plane.dataSource.query('DELETE FROM snapshots WHERE version > $1', [version - 3]);
  await plane.dataSource.query(
    `SELECT setval(pg_get_serial_sequence('snapshots', 'version'), $1)`,
    [version - 3],
  );
  await eventually(async () => expect((await inRedis()).version).toBeGreaterThan(version));
});
