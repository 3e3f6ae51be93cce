import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createSecretBox } from '@tollgate/contracts';
import { FleetStore, type RedisConnection } from '@tollgate/keyspace';
import { publishSnapshot, type PublishedSnapshot, type SnapshotSeal } from '@tollgate/snapshot';
import { eventually } from '@tollgate/harness';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { SpeakingNode } from '../../testing/speaking-node.ts';

const WITHIN_MS = 20_000;
const KEYS = {
  current: '{fleet}:snapshot:current',
  snapshot: (version: number) => `{fleet}:snapshot:${version}`,
  seal: (version: number) => `{fleet}:snapshot:${version}:seal`,
};

let plane: ControlPlane;
let fleet: FleetStore;
let redis: RedisConnection;
const nodes: SpeakingNode[] = [];

const admin = <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
) => plane.call(method, path, { token: plane.adminToken, body });
const alerts = async (status: string): Promise<number> =>
  (await admin('GET', `/admin/alerts?rule=redis_tampered&status=${status}`)).body.total;

async function inRedis(): Promise<{ snapshot: PublishedSnapshot; seal: SnapshotSeal | null }> {
  const version = (await fleet.currentVersion()) ?? 0;
  const verdict = version > 0 ? await fleet.fetchSnapshot(version) : null;
  if (verdict?.kind !== 'ok') throw new Error(`not readable: ${JSON.stringify(verdict)}`);
  return { snapshot: verdict.snapshot, seal: await fleet.fetchSeal(version) };
}

/** Waits until the found data is in place again, sealed, and verifies that the forgery is reported until the next clean look. */
async function repaired(before: Awaited<ReturnType<typeof inRedis>>): Promise<void> {
  await eventually(async () => expect(await inRedis()).toEqual(before), WITHIN_MS);
  expect(await alerts('all')).toBeGreaterThan(0);
  await eventually(async () => expect(await alerts('open')).toBe(0), WITHIN_MS);
}

beforeAll(async () => {
  plane = await startControlPlane();
  fleet = plane.app.get(FleetStore);
  redis = plane.app.get(REDIS);
  await admin('POST', '/upstreams', {
    name: 'main',
    protocol: 'openai',
    base_url: 'https://api.example.com/v1',
    api_key: 'sk-canary',
  });
  await eventually(async () =>
    expect((await inRedis()).snapshot.document.upstreams).toHaveLength(1),
  );
}, 60_000);
afterAll(async () => {
  for (const node of nodes) node.stop();
  await plane?.stop();
});

test('S51: a snapshot altered in Redis, its checksum recomputed, is written over and reported', async () => {
  const before = await inRedis();
  const document = structuredClone(before.snapshot.document);
  for (const upstream of document.upstreams) upstream.base_url = 'https://evil.example/v1';
  const { version } = before.snapshot;
  const forged = publishSnapshot({ version, document, publishedAtMs: 1 });
  await redis.set(KEYS.snapshot(version), JSON.stringify(forged));
  await repaired(before);
}, 60_000);

test('S51: a forged version with a forged seal is written over and blocks no publication', async () => {
  const before = await inRedis();
  const version = 900_719_925_474;
  const forged = { ...before.snapshot, version };
  await redis.set(KEYS.snapshot(version), JSON.stringify(forged));
  await redis.set(KEYS.seal(version), JSON.stringify({ ...before.seal, version, lineage: 99 }));
  await redis.set(KEYS.current, String(version));
  await repaired(before);
  await redis.set(KEYS.current, 'no number');
  await eventually(async () => expect(await inRedis()).toEqual(before), WITHIN_MS);
}, 60_000);

test.each([
  { what: 'above all integers', write: () => redis.set(KEYS.current, '9007199254740993') },
  {
    what: 'of another type',
    write: () => redis.multi().del(KEYS.current).hset(KEYS.current, 'a', 'b').exec(),
  },
])(
  'S51: a current version $what is written over and reported',
  async ({ write }) => {
    const before = await inRedis();
    await write();
    await repaired(before);
  },
  60_000,
);

test('a snapshot whose seal was removed gets one and keeps its version', async () => {
  const before = await inRedis();
  await redis.del(KEYS.seal(before.snapshot.version));
  await eventually(async () => expect(await inRedis()).toEqual(before), WITHIN_MS);
}, 60_000);

test('a database restored from a backup begins a new lineage, from what Redis or a node proves to have run', async () => {
  const forget = async (version: number): Promise<void> => {
    await plane.dataSource.query('UPDATE snapshots SET rollback_of = NULL');
    await plane.dataSource.query('DELETE FROM snapshots WHERE version > $1', [version]);
    await plane.dataSource.query(
      `SELECT setval(pg_get_serial_sequence('snapshots', 'version'), $1)`,
      [version],
    );
  };
  const { snapshot, seal } = await inRedis();
  await forget(snapshot.version - 1);
  await eventually(async () =>
    expect((await inRedis()).seal).toMatchObject({
      version: snapshot.version + 1,
      lineage: (seal?.lineage ?? 0) + 1,
    }),
  );
  const node = new SpeakingNode({
    redisUrl: plane.services.redisUrl,
    name: 'survivor',
    credential: plane.environment['FLEET_CREDENTIAL'] ?? '',
    reports: { lineage: 9 },
  });
  nodes.push(node);
  node.runs({ version: 500, checksum: 'c'.repeat(64) });
  await node.start();
  await eventually(async () =>
    expect((await inRedis()).seal).toMatchObject({ version: 501, lineage: 10 }),
  );
}, 60_000);

test('S52: upstream keys are bound to their address', async () => {
  const stored = async (): Promise<{ id: number; envelope: string }> => {
    const [row] = await plane.dataSource.query(
      "SELECT id, sealed_api_key AS envelope FROM upstreams WHERE name = 'bound'",
    );
    return row;
  };
  const body = { protocol: 'openai', base_url: 'https://api.example.com/v1', api_key: 'sk-bound' };
  await admin('POST', '/upstreams', { name: 'bound', ...body });
  const box = createSecretBox({ current: plane.environment['ENCRYPTION_KEY'] ?? '' });
  const { id, envelope } = await stored();
  expect(box.open(envelope, { upstreamId: id, baseUrl: body.base_url })).toBe('sk-bound');
  expect(() =>
    box.open(envelope, { upstreamId: id, baseUrl: 'https://evil.example/v1' }),
  ).toThrow();
  // A new address of the same upstream takes the key again, which is sealed for it.
  const moved = 'https://eu.api.example.com/v1';
  await admin('PUT', `/upstreams/${id}`, { base_url: moved, api_key: 'sk-bound' });
  expect(box.open((await stored()).envelope, { upstreamId: id, baseUrl: moved })).toBe('sk-bound');
  await eventually(async () => {
    const upstream = (await inRedis()).snapshot.document.upstreams.find((each) => each.id === id);
    expect(upstream?.sealed_api_key).toBe((await stored()).envelope);
  });
}, 60_000);
