import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { FleetStore } from '@tollgate/keyspace';
import { eventually } from '@tollgate/harness';
import { deletedCredentials } from '../activity/deleted-credentials.sql.ts';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
}, 60_000);
afterAll(() => plane?.stop());

const admin = async <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
) => {
  const { status, body: answer } = await plane.call(method, path, {
    token: plane.adminToken,
    body,
  });
  if (status >= 400) throw new Error(`${method} ${path}: ${status}`);
  return answer;
};

async function published() {
  const fleet = plane.app.get(FleetStore);
  const verdict = await fleet.fetchSnapshot((await fleet.currentVersion()) ?? 0);
  if (verdict?.kind !== 'ok') throw new Error('nothing readable is published');
  return verdict.snapshot;
}

test('a rollback does not bring a deleted credential back, and leaves out an upstream that has no other', async () => {
  const price = { price_per_million: '1' };
  const model = await admin('POST', '/models', { name: 'm', price, is_on_shelf: true });
  const address = { protocol: 'openai', base_url: 'https://api.example.com/v1' };
  const upstream = await admin('POST', '/upstreams', { name: 'u', ...address, api_key: 'sk-own' });
  await admin('POST', '/routing', { model_id: model.id, upstream_id: upstream.id });
  const path = `/upstreams/${upstream.id}/credentials`;
  const add = async (name: string): Promise<number> =>
    Object(await admin('POST', path, { name, api_key: `sk-${name}` })).id;
  const [kept, deleted] = [await add('kept'), await add('deleted')];
  const ids = async () =>
    (await published()).document.upstreams[0]?.credentials?.map(({ id }) => id);
  await eventually(async () => expect(await ids()).toEqual([0, kept, deleted]));
  const { version } = await published();
  const rollBackWithout = async (id: number) => {
    await admin('DELETE', `${path}/${id}`);
    await admin('POST', `/snapshots/${version}/rollback`);
    const { document } = await published();
    await admin('POST', '/snapshots/unpin');
    return document;
  };

  expect(await rollBackWithout(deleted)).toMatchObject({
    upstreams: [{ sealed_api_key: expect.any(String), credentials: [{ id: 0 }, { id: kept }] }],
    routes: [{ upstream_id: upstream.id }],
  });
  expect(await rollBackWithout(0)).toMatchObject({
    upstreams: [{ sealed_api_key: null, credentials: [{ id: kept }] }],
  });
  expect(await rollBackWithout(kept)).toMatchObject({ upstreams: [], routes: [] });
});

test('a rollback undoes the deletion of an upstream, with its key', async () => {
  const address = { protocol: 'openai', base_url: 'https://api.example.com/v1' };
  const { id } = await admin('POST', '/upstreams', { name: 'gone', ...address, api_key: 'sk-1' });
  const names = async () => (await published()).document.upstreams.map(({ name }) => name);
  await eventually(async () => expect(await names()).toContain('gone'));
  const { version } = await published();
  await admin('DELETE', `/upstreams/${id}`);
  await eventually(async () => expect(await names()).not.toContain('gone'));
  await admin('POST', `/snapshots/${version}/rollback`);
  expect((await published()).document.upstreams.find((each) => each.id === id)).toMatchObject({
    sealed_api_key: expect.any(String),
  });
});

test.each([
  ['deleted', 'DELETE'],
  ['removed by a change', 'PUT'],
] as const)(
  'a rollback brings no credential back that was %s before its upstream was deleted, or whose place another has',
  async (_how, method) => {
    const address = { protocol: 'openai', base_url: 'https://api.example.com/v1' };
    const { id } = await admin('POST', '/upstreams', { name: method, ...address, api_key: 'sk-1' });
    const path = `/upstreams/${id}/credentials`;
    const add = async (name: string): Promise<number> =>
      Object(await admin('POST', path, { name, api_key: `sk-${name}` })).id;
    const [kept, deleted] = [await add('kept'), await add('deleted')];
    await admin('POST', '/snapshots/unpin');
    const own = async () => (await published()).document.upstreams.find((each) => each.id === id);
    await eventually(async () => expect((await own())?.credentials).toHaveLength(3));
    const { version } = await published();
    await admin('DELETE', `${path}/${deleted}`);
    if (method === 'DELETE') await admin('DELETE', `${path}/0`);
    else await admin('PUT', `/upstreams/${id}`, { api_key: null });
    const rolledBack = async () => {
      await admin('POST', `/snapshots/${version}/rollback`);
      return own();
    };
    const rest = { sealed_api_key: null, credentials: [{ id: kept }] };
    await admin('PUT', `/upstreams/${id}`, { api_key: 'sk-2' });
    expect(await rolledBack()).toMatchObject(rest);
    await admin('DELETE', `/upstreams/${id}`);
    expect(await rolledBack()).toMatchObject(rest);
  },
);

test('an own credential counts as deleted for a version that was compiled beside its deletion, and not for later ones', async () => {
  const address = { protocol: 'openai', base_url: 'https://api.example.com/v1' };
  const { id } = await admin('POST', '/upstreams', { name: 'beside', ...address, api_key: 'sk-1' });
  await admin('DELETE', `/upstreams/${id}/credentials/0`);
  const isDeletedFor = async (laterMs: number): Promise<boolean> => {
    const madeAt = new Date(Date.now() + laterMs);
    const found = await deletedCredentials(plane.dataSource.manager, madeAt);
    return found.some((each) => each.upstreamId === id);
  };
  expect([await isDeletedFor(20_000), await isDeletedFor(120_000)]).toEqual([true, false]);
});
