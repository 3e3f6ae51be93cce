import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  PASSWORD,
  startControlPlane,
  type ControlPlane,
} from '../../testing/control-plane-under-test.ts';
import { RouteTable, type RouteEntry } from '../openapi/route-table.ts';

/** Lists prefixless paths of the process itself. */
const OUTSIDE = new Set(['/healthz', '/readyz', '/metrics']);

let plane: ControlPlane;
let routes: RouteEntry[];
beforeAll(async () => {
  plane = await startControlPlane();
  routes = plane.app
    .get(RouteTable)
    .routes()
    .filter((route) => !OUTSIDE.has(route.path) && !/^\/(webhooks|internal)\//.test(route.path));
}, 60_000);
afterAll(() => plane?.stop());

/** Calls routes with unknown ids and no body: a caller that passes the guard is refused later, for another reason. A stream of events, which has no end, is asked for of an unknown account. */
const knock = (route: RouteEntry, token?: string, on: ControlPlane = plane) =>
  on.call(
    route.method,
    route.path === '/events' ? '/events?user_id=999999' : route.path.replaceAll(/:\w+/g, '999999'),
    { token },
  );

async function statusesOf(
  which: (route: RouteEntry) => boolean,
  token?: string,
  on?: ControlPlane,
): Promise<{ route: string; status: number; code: string }[]> {
  const found = [];
  for (const route of routes.filter(which)) {
    const { status, body } = await knock(route, token, on);
    found.push({ route: `${route.method} ${route.path}`, status, code: body?.code });
  }
  return found;
}

describe('every route of the live route table (S23)', () => {
  test('is known', () => {
    expect(routes.length).toBeGreaterThan(15);
    expect(
      routes
        .filter((route) => route.permission === 'public')
        .map((route) => `${route.method} ${route.path}`)
        .sort(),
    ).toEqual([
      'GET /docs',
      'GET /docs/:file',
      'GET /openapi.json',
      'POST /auth/login',
      'POST /auth/register',
    ]);
  });

  test('refuses the anonymous, unless it is public', async () => {
    const answers = await statusesOf((route) => route.permission !== 'public');
    expect(
      answers.filter(({ status, code }) => status !== 401 || code !== 'unauthenticated'),
    ).toEqual([]);
  });

  test('refuses a frozen and a deleted account with a token of before', async () => {
    for (const [name, method, path] of [
      ['frozen', 'POST', '/freeze'],
      ['deleted', 'DELETE', ''],
    ] as const) {
      const { id, token } = await plane.createUser(name);
      await plane.call(method, `/users/${id}${path}`, { token: plane.adminToken });
      const answers = await statusesOf((route) => route.permission !== 'public', token);
      expect(answers.filter(({ status }) => status !== 401)).toEqual([]);
    }
  });

  test('refuses users what is for administrators, and lets them in elsewhere', async () => {
    const { token } = await plane.createUser('ursula');
    const closed = await statusesOf((route) => route.permission === 'admin', token);
    expect(closed.filter(({ status, code }) => status !== 403 || code !== 'forbidden')).toEqual([]);
    const open = await statusesOf(
      (route) => route.permission === 'user' && route.path !== '/auth/logout',
      token,
    );
    expect(
      open.filter(({ status, code }) => status === 401 || code === 'forbidden' || status >= 500),
    ).toEqual([]);
  });

  test('refuses a query parameter it does not know, and names it; public ones are spared', async () => {
    const found = [];
    for (const { method, path, permission } of routes.filter(
      (route) => route.method === 'GET' && !route.path.startsWith('/docs'),
    )) {
      const { status, body } = await plane.call(
        method,
        `${path.replaceAll(/:\w+/g, '999999')}?surprise=1`,
        { token: plane.adminToken },
      );
      found.push({
        path,
        permission,
        status,
        fields: status === 400 ? body.errors.map((error: { field: string }) => error.field) : [],
      });
    }
    expect(
      found.filter(
        ({ permission, status, fields }) =>
          permission !== 'public' && !(status === 400 && fields.includes('surprise')),
      ),
    ).toEqual([]);
    expect(
      found
        .filter(({ permission }) => permission === 'public')
        .map(({ path, status }) => `${path} ${status}`),
    ).toEqual(['/openapi.json 200']);
    for (const change of [
      'POST /keys/999999/enable',
      'DELETE /routing/999999',
      'POST /proxy/sync-config',
    ]) {
      const [method = '', path = ''] = change.split(' ');
      expect(
        await plane.call(method, `${path}?surprise=1`, { token: plane.adminToken }),
      ).toMatchObject({ status: 400, body: { errors: [{ field: 'surprise' }] } });
    }
  });

  test('lets administrators in everywhere, and none fails', async () => {
    await plane.call('POST', '/auth/register', {
      body: { username: 'second', password: PASSWORD },
    });
    const answers = await statusesOf((route) => route.path !== '/auth/logout', plane.adminToken);
    expect(
      answers.filter(
        ({ status, code, route }) =>
          (status === 401 && !route.endsWith('/auth/login')) ||
          code === 'forbidden' ||
          status >= 500,
      ),
    ).toEqual([]);
  });
});

test('ADMIN_API_ACCESS=administrators closes the whole interface to users', async () => {
  const closed = await startControlPlane({ ADMIN_API_ACCESS: 'administrators' });
  try {
    const { token } = await closed.createUser('ursula');
    const answers = await statusesOf((route) => route.permission !== 'public', token, closed);
    expect(answers.filter(({ status, code }) => status !== 403 || code !== 'forbidden')).toEqual(
      [],
    );
    expect((await closed.call('GET', '/auth/me', { token: closed.adminToken })).status).toBe(200);
  } finally {
    await closed.stop();
  }
}, 60_000);
