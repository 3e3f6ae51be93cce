import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { OpenApiDocument } from '../openapi/openapi-document.ts';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
}, 60_000);
afterAll(() => plane?.stop());

const go = (method: string, path: string, body?: unknown, headers = {}) =>
  plane.call(method, path, {
    token: plane.adminToken,
    headers,
    ...(body === undefined ? {} : { body }),
  });

/** One record of each kind, and two changes of it. */
async function records(): Promise<Record<string, { path: string; changes: [object, object] }>> {
  const { id: userId } = await plane.createUser('tagged');
  const model = (await go('POST', '/models', { name: 'tagged' })).body.id;
  const upstream = (
    await go('POST', '/upstreams', {
      name: 'tagged',
      protocol: 'openai',
      base_url: 'http://127.0.0.1:8999/v1',
    })
  ).body.id;
  const route = (await go('POST', '/routing', { model_id: model, upstream_id: upstream })).body.id;
  const key = (await go('POST', '/keys', { name: 'tagged' })).body.id;
  const node = (await go('POST', '/proxy-nodes', { name: 'tagged' })).body.id;
  return {
    user: { path: `/users/${userId}`, changes: [{ is_demo: true }, { is_demo: false }] },
    model: { path: `/models/${model}`, changes: [{ description: 'a' }, { description: 'b' }] },
    upstream: {
      path: `/upstreams/${upstream}`,
      changes: [{ max_concurrency: 3 }, { max_concurrency: 4 }],
    },
    route: { path: `/routing/${route}`, changes: [{ weight: 2 }, { weight: 3 }] },
    key: { path: `/keys/${key}`, changes: [{ rpm: 2 }, { rpm: 3 }] },
    node: { path: `/proxy-nodes/${node}`, changes: [{ url: 'http://127.0.0.1:9' }, { url: null }] },
  };
}

describe('If-Match on every PUT', () => {
  test('changes what was read, and refuses without effect what changed meanwhile', async () => {
    const all = await records();
    const { paths } = plane.app.get(OpenApiDocument).read();
    const puts = Object.keys(paths).filter((path) => paths[path]?.put !== undefined);
    expect(Object.keys(all)).toHaveLength(puts.length);
    for (const [kind, { path, changes }] of Object.entries(all)) {
      const read = await go('GET', path);
      const tag = read.headers.get('etag') ?? '';
      expect([kind, tag]).toEqual([kind, expect.stringMatching(/^"\d+-[0-9a-z]+"$/)]);
      const changed = await go('PUT', path, changes[0], { 'if-match': tag });
      expect([kind, changed.status]).toEqual([kind, 200]);
      const stale = await go('PUT', path, changes[1], { 'if-match': tag });
      expect([kind, stale.status, stale.body.code]).toEqual([kind, 412, 'precondition_failed']);
      expect((await go('GET', path)).body).toMatchObject(changes[0]);
      const newer = changed.headers.get('etag') ?? '';
      expect((await go('PUT', path, changes[1], { 'if-match': `"other", ${newer}` })).status).toBe(
        200,
      );
      expect((await go('PUT', path, changes[0], { 'if-match': '*' })).status).toBe(200);
      expect((await go('PUT', path, changes[1])).status).toBe(200);
    }
  }, 60_000);
});
