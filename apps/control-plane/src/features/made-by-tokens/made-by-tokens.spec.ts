import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { RouteTable, type RouteEntry } from '../../platform/openapi/route-table.ts';
import {
  PASSWORD,
  startControlPlane,
  type ControlPlane,
} from '../../testing/control-plane-under-test.ts';
import { ActivityService } from '../activity/activity.service.ts';

const PROVIDER_KEY = 'sk-of-the-house';

let plane: ControlPlane;
let sequence = 0;
/** One server is the provider that has the key, the other has an address that must never get it. */
let provider: Server;
let thief: Server;
const stolen: string[] = [];
beforeAll(async () => {
  plane = await startControlPlane();
  provider = createServer((_, response) => response.writeHead(401).end('{}'));
  thief = createServer((request, response) => {
    stolen.push(JSON.stringify(request.headers));
    response.writeHead(401).end('{}');
  });
  for (const server of [provider, thief]) await once(server.listen(0, '127.0.0.1'), 'listening');
}, 60_000);
afterAll(async () => {
  provider?.close();
  thief?.close();
  await plane?.stop();
});

const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
const as =
  (token: string) =>
  <Method extends string, Path extends string>(method: Method, path: Path, body?: unknown) =>
    plane.call(method, path, { token, ...(body === undefined ? {} : { body }) });
const root = <Method extends string, Path extends string>(
  method: Method,
  path: Path,
  body?: unknown,
) => as(plane.adminToken)(method, path, body);
const unique = (word: string) => `${word}-${(sequence += 1)}x`;
const mint = async (scope: string, session = plane.adminToken) =>
  (await as(session)('POST', '/auth/tokens', { name: unique('script'), scope })).body;
const make = async <Path extends string>(path: Path, body: object) =>
  (await root('POST', path, body)).body;
const newUpstream = () =>
  make('/upstreams', {
    name: unique('upstream'),
    protocol: 'openai',
    base_url: urlOf(provider),
    api_key: PROVIDER_KEY,
  });

/** Makes new records for each route, so that none works on what another has ended. */
const TARGETS: Readonly<Record<string, () => Promise<{ id: number }[]>>> = {
  users: async () => {
    const [user, deputy, frozen] = [
      await make('/users', { username: unique('user') }),
      await make('/users', { username: unique('deputy'), role: 'admin' }),
      await make('/users', { username: unique('frozen'), role: 'admin' }),
    ];
    await root('POST', `/users/${frozen.id}/freeze`);
    return [user, deputy, frozen];
  },
  upstreams: async () => [await newUpstream()],
  keys: async () => [await make('/keys', { name: 'key' })],
  auth: async () => [await mint('admin')],
};
const UNKNOWN = [{ id: 999_999 }];

/** The example of a route's body, and what an attacker would write into its fields. */
function bodiesOf({ method, path }: RouteEntry): (object | undefined)[] {
  const { document } = plane.documented;
  const written = `/admin-api${path.replaceAll(/:(\w+)/g, '{$1}')}`;
  const operation = Object(document.paths[written])[method.toLowerCase()];
  const { schema, example } = Object(operation?.requestBody?.content?.['application/json']);
  if (schema === undefined) return [undefined];
  const fields: object = schema.properties ?? {};
  const named = () => ({
    ...('username' in fields && { username: unique('made') }),
    ...('name' in fields && { name: unique('made') }),
  });
  const wishes = {
    ...('role' in fields && { role: 'admin' }),
    ...('scope' in fields && { scope: 'admin' }),
    ...('base_url' in fields && { base_url: urlOf(thief) }),
  };
  const { api_key: _, ...rest } = Object(example);
  return [
    { ...rest, ...wishes, ...named() },
    { ...wishes, ...named() },
    { ...rest, ...named() },
  ];
}

interface Secret {
  /** Is the route that answered it. */
  from: string;
  /** Identifies the record that it came with. */
  id: number;
  text: string;
}
/** Returns every text of an answer that may open something: by its field's name, or because it has 128 random bits. */
function secretsOf(from: string, body: unknown): Secret[] {
  const id = Number(Object(body).id);
  const isSecret = (field: string, text: string): boolean => {
    const [word = ''] = /[\w-]{22,}$/.exec(text) ?? [];
    const isRandom = [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(word));
    return isRandom || /^(?:token|key|credential|secret)$|_password$/.test(field);
  };
  const textsIn = (value: unknown, field: string): string[] =>
    typeof value === 'string'
      ? [value].filter((text) => isSecret(field, text))
      : Object.entries(Object(value)).flatMap(([name, part]) => textsIn(part, name));
  return textsIn(body, '').map((text) => ({ from, id, text }));
}

/** Names the objects that the routes that answer credentials make, as `GET /auth/tokens/{id}/made` does. */
const MADE_BY: Readonly<Record<string, string>> = {
  'POST /users': 'user',
  'POST /keys': 'key',
  'POST /keys/:id/rotate': 'key',
  'POST /proxy-nodes': 'node',
};

async function madeBy(tokenId: number): Promise<{ kind: string; id: number; state: string }[]> {
  const made = [];
  for (let query = '?page_size=100'; ;) {
    const answer = await root('GET', `/auth/tokens/${tokenId}/made${query}`);
    const body = Object(answer.body);
    made.push(...body.data);
    if (!body.has_more) return made;
    query = `?page_size=100&cursor=${body.next_cursor}`;
  }
}

/** Calls every route that an attacker with this token may try. */
async function tryAll(token: string): Promise<{ secrets: Secret[]; tried: string[] }> {
  const secrets: Secret[] = [];
  const tried: string[] = [];
  const routes = plane.app
    .get(RouteTable)
    .routes()
    .filter(({ permission, path }) => permission !== 'public' && path !== '/events');
  for (const route of routes) {
    const kind = route.path.split('/')[1] ?? '';
    const targets = route.path.includes(':') ? await (TARGETS[kind]?.() ?? UNKNOWN) : UNKNOWN;
    for (const { id } of targets)
      for (const body of bodiesOf(route)) {
        const path = route.path.replaceAll(/:\w+/g, String(id));
        const answer = await as(token)(route.method, path, body);
        tried.push(`${route.method} ${route.path} ${answer.status}`);
        secrets.push(...secretsOf(`${route.method} ${route.path}`, answer.body));
        if (kind === 'upstreams' && route.path.includes(':'))
          await as(token)('POST', `/upstreams/${id}/test`, { model: 'm' });
      }
  }
  return { secrets, tried };
}

/** Returns true when a secret opens the administration: as a token, or as the password of the account that it came with. */
async function opensAsAdministrator({ id, text }: Secret): Promise<boolean> {
  if ((await as(text)('GET', '/users')).status === 200) return true;
  const [row] = await plane.dataSource.query('SELECT username FROM users WHERE id = $1', [id]);
  if (row === undefined) return false;
  const login = await plane.call('POST', '/auth/login', {
    body: { username: row.username, password: text },
  });
  if (login.status !== 200) return false;
  const changed = await as(login.body.token)('POST', '/auth/password', {
    current_password: text,
    new_password: PASSWORD,
  });
  const session = changed.body.token ?? login.body.token;
  return (await as(session)('GET', '/users')).status === 200;
}

describe('an administrator token that is in the wrong hands (S57)', () => {
  test('leaves nothing behind that is an administrator, and never moves a key of a provider, by any route', async () => {
    const { id, token } = await mint('admin');
    const { secrets, tried } = await tryAll(token);
    expect(new Set(tried.map((line) => line.replace(/ \d+$/, ''))).size).toBeGreaterThan(100);
    // It does do ordinary work: accounts, keys and upstreams are made.
    for (const done of ['POST /users 201', 'POST /keys 201', 'POST /upstreams 201'])
      expect(tried).toContain(done);
    expect([...new Set(secrets.map(({ from }) => from))].sort()).toEqual(
      Object.keys(MADE_BY).sort(),
    );
    const listed = (await madeBy(id)).map((made) => `${made.kind} ${made.id}`);
    for (const secret of secrets) expect(listed).toContain(`${MADE_BY[secret.from]} ${secret.id}`);
    expect((await root('DELETE', `/auth/tokens/${id}`)).status).toBe(204);
    const open = [];
    for (const secret of secrets) if (await opensAsAdministrator(secret)) open.push(secret);
    expect(open).toEqual([]);
    expect(stolen.filter((headers) => headers.includes(PROVIDER_KEY))).toEqual([]);
    expect((await as(token)('GET', '/auth/me')).status).toBe(401);
  }, 240_000);

  test('leaves no credential that opens anything, once what it made is disabled', async () => {
    const { id, token } = await mint('admin');
    const script = as(token);
    const node = (await script('POST', '/proxy-nodes', { name: unique('node') })).body;
    await script('POST', `/proxy-nodes/${node.id}/toggle`, { enabled: false });
    expect(await madeBy(id)).toMatchObject([{ kind: 'node', id: node.id, state: 'active' }]);
    await root('DELETE', `/auth/tokens/${id}`);
    expect((await root('POST', `/auth/tokens/${id}/disable-made`, {})).body.disabled).toBe(1);
    expect(await madeBy(id)).toMatchObject([{ kind: 'node', id: node.id, state: 'deleted' }]);
    expect((await root('GET', `/proxy-nodes/${node.id}`)).status).toBe(404);
  });

  test('is listed with what it made, and revoking it can disable all of that', async () => {
    const { id, token } = await mint('admin');
    const script = as(token);
    const user = (await script('POST', '/users', { username: unique('made') })).body;
    const key = (await script('POST', '/keys', { name: 'made' })).body;
    const rotated = (await script('POST', `/keys/${key.id}/rotate`, {})).body;
    const upstream = (
      await script('POST', '/upstreams', {
        name: unique('made'),
        protocol: 'openai',
        base_url: urlOf(thief),
      })
    ).body;
    await make('/keys', { name: 'of a session' });
    const list = async () => (await root('GET', `/auth/tokens/${id}/made`)).body.data;
    const made = [
      ['upstream', upstream.id, 'active', false],
      ['key', rotated.id, 'active', false],
      ['key', key.id, 'active', false],
      ['user', user.id, 'active', true],
    ];
    const shown = async () =>
      (await list()).map((row: Record<string, unknown>) => [
        row['kind'],
        row['id'],
        row['state'],
        row['has_one_time_password'],
      ]);
    expect(await shown()).toEqual(made);
    const page = (await root('GET', `/auth/tokens/${id}/made?page_size=3`)).body;
    const rest = await root('GET', `/auth/tokens/${id}/made?cursor=${page.next_cursor}`);
    expect(rest.body).toMatchObject({ has_more: false, data: [{ kind: 'user', id: user.id }] });
    await root('DELETE', `/auth/tokens/${id}`);
    expect(await shown()).toEqual(made);
    expect((await root('GET', '/auth/tokens?is_revoked=true')).body.data).toContainEqual(
      expect.objectContaining({ id, revoked_at: expect.any(String) }),
    );
    const disable = (body: object) => root('POST', `/auth/tokens/${id}/disable-made`, body);
    expect((await disable({ kinds: ['key'] })).body).toEqual({ disabled: 2, left: [] });
    expect((await disable({})).body).toEqual({ disabled: 2, left: [] });
    expect((await shown()).map((row: unknown[]) => row[2])).toEqual(Array(4).fill('disabled'));
    expect((await disable({})).body).toEqual({ disabled: 0, left: [] });
    const log = (await root('GET', `/activity/logs?token_id=${id}`)).body.data;
    expect(log.map(({ action }: { action: string }) => action)).toEqual([
      'upstream.create',
      'key.rotate',
      'key.create',
      'user.create',
    ]);
    expect((await plane.app.get(ActivityService).verify()).brokenAt).toBeNull();
  });

  test('of a user is theirs alone to look at', async () => {
    const [owner, stranger] = [
      await plane.createUser(unique('owner')),
      await plane.createUser(unique('stranger')),
    ];
    const { id, token } = await mint('write', owner.token);
    const key = (await as(token)('POST', '/keys', { name: 'made' })).body;
    for (const [method, path] of [
      ['GET', 'made'],
      ['POST', 'disable-made'],
    ] as const)
      expect((await as(stranger.token)(method, `/auth/tokens/${id}/${path}`)).status).toBe(404);
    const own = as(owner.token);
    expect((await own('GET', `/auth/tokens/${id}/made`)).body.data).toMatchObject([
      { kind: 'key', id: key.id },
    ]);
    expect((await as(token)('POST', `/auth/tokens/${id}/disable-made`)).body.code).toBe(
      'session_needed',
    );
    expect((await own('POST', `/auth/tokens/${id}/disable-made`)).body.disabled).toBe(1);
  });
});
