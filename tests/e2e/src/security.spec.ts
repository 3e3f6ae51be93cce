import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  AdminClient,
  createCustomer,
  createRoutedModel,
  startTollgate,
  subscribeWithKey,
  type AdminRefusal,
  type Customer,
  type RoutedModel,
  type Tollgate,
} from '@tollgate/harness';
import { openRedis, redisReady } from '@tollgate/keyspace';
import pg from 'pg';
import { settledRows } from './books.ts';

/** Cases of the threat model that only a whole installation can show. */
const REGISTRATIONS = 3;
const canary = (what: string): string => `canary-${what}-${randomBytes(9).toString('hex')}`;
/** Only their owner may ever see one of these again. */
const secrets = {
  prompt: canary('prompt'),
  upstreamKey: canary('upstream'),
  cookie: canary('cookie'),
  password: canary('password'),
  wrongPassword: canary('wrong'),
};

let tollgate: Tollgate;
let customer: Customer;
let model: RoutedModel;
/** On a route of its own, which rests once it has failed. */
let failing: RoutedModel;
let key: string;

beforeAll(async () => {
  tollgate = await startTollgate({
    nodes: 2,
    frontDoor: true,
    env: { REGISTRATIONS_PER_ADDRESS_PER_DAY: String(REGISTRATIONS), LOG_LEVEL: 'trace' },
  });
  customer = await createCustomer(tollgate);
  model = await createRoutedModel(tollgate, { protocols: ['openai'] });
  failing = await createRoutedModel(tollgate, { protocols: ['openai'] });
  for (const { id } of await tollgate.admin.list('/upstreams'))
    await tollgate.admin.call('PUT', `/upstreams/${String(id)}`, { api_key: secrets.upstreamKey });
  key = await subscribeWithKey(customer, { modelIds: [model.id, failing.id] });
  await tollgate.admin.syncAll();
}, 60_000);
afterAll(() => tollgate?.stop(), 30_000);

async function chat(
  prompt: string,
  more: { apiKey?: string; named?: string; stream?: boolean } = {},
): Promise<{ rid: string; text: string }> {
  const response = await fetch(`${tollgate.frontDoorUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${more.apiKey ?? key}`,
      'content-type': 'application/json',
      cookie: `tollgate_session=${secrets.cookie}`,
    },
    body: JSON.stringify({
      model: more.named ?? model.name,
      stream: more.stream ?? false,
      messages: [{ role: 'user', content: `${secrets.prompt} ${prompt}` }],
    }),
  });
  return { rid: response.headers.get('x-request-id') ?? '', text: await response.text() };
}
const refusal = (call: Promise<unknown>): Promise<AdminRefusal> =>
  call.then(
    () => {
      throw new Error('it was not refused');
    },
    (error: AdminRefusal) => error,
  );
const login = (username: string, password: string) =>
  new AdminClient(tollgate.adminUrl).login(username, password);

describe('S13: a secret stays with its owner', () => {
  const places: Record<string, string> = {};

  beforeAll(async () => {
    const { rid } = await chat('@demo tokens=3');
    await chat('@demo tokens=3', { stream: true });
    const failures = await Promise.all(
      ['500', 'garbage', 'dies'].map((mode) => chat(`@demo mode=${mode}`, { named: failing.name })),
    );
    // The last, because the route rests from here on.
    failures.push(await chat('@demo mode=401', { named: failing.name }));
    places['errors of the proxy interface'] = failures.map(({ text }) => text).join('\n');
    places['the answer to a wrong key'] = (
      await chat('hello', { apiKey: `${key.slice(0, -2)}xx` })
    ).text;
    places['the answer to an unknown model'] = (
      await chat('hello', { named: 'unknown-model' })
    ).text;
    places['errors of the administration interface'] = String(
      (await refusal(login(customer.username, secrets.wrongPassword))).message,
    );
    await customer.client.call('POST', '/auth/password', {
      current_password: customer.password,
      new_password: secrets.password,
    });
    customer.client = await login(customer.username, secrets.password);
    await settledRows(tollgate, rid);
    for (const path of [
      '/activity/logs?page_size=100',
      '/usage/logs',
      '/usage/statistics',
      '/admin/alerts?status=all',
      '/admin/dashboard',
      '/upstreams',
      '/keys',
      '/users',
      '/proxy/stats',
      '/snapshots',
    ]) {
      places[`GET ${path}`] = JSON.stringify(await tollgate.admin.call('GET', path));
    }
    for (const table of ['models', 'routes', 'upstreams', 'upstream_health', 'rate_denials'])
      places[`the nodes' table ${table}`] = JSON.stringify(
        await tollgate.admin.call('GET', `/proxy/stats/dict?table=${table}`),
      );
    for (const name of tollgate.processNames) places[`the log of ${name}`] = tollgate.logs(name);
    const metrics = await fetch(`${tollgate.nodeUrls[0]}/metrics`, {
      headers: { authorization: `Bearer ${tollgate.secrets.fleet}` },
    });
    places['metrics'] = await metrics.text();
    places['a dump of Redis, jobs included'] = await dumpRedis();
    places['a dump of PostgreSQL'] = await dumpPostgres();
  }, 60_000);

  test.each(Object.keys(secrets) as (keyof typeof secrets)[])(
    '%s is nowhere to be found',
    (name) => {
      expect(
        Object.entries(places)
          .filter(([, text]) => text.includes(secrets[name]))
          .map(([place]) => place),
      ).toEqual([]);
    },
  );

  test('nor is an API key, a session or what signs and seals', () => {
    const owned = [
      key,
      tollgate.admin.token ?? '',
      customer.client.token ?? '',
      ...Object.values(tollgate.secrets),
    ];
    expect(
      Object.entries(places)
        .filter(([, text]) => owned.some((secret) => text.includes(secret)))
        .map(([place]) => place),
    ).toEqual([]);
    for (const [place, text] of Object.entries(places))
      expect([place, text.length > 0]).toEqual([place, true]);
  });
});

async function dumpPostgres(): Promise<string> {
  const database = new pg.Client({ connectionString: tollgate.databaseUrl });
  await database.connect();
  try {
    const { rows } = await database.query<{ name: string }>(
      `SELECT c.oid::regclass::text AS name FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace`,
    );
    const dumps: string[] = [];
    for (const { name } of rows)
      dumps.push(
        JSON.stringify((await database.query(`SELECT t.*::text AS row FROM ${name} t`)).rows),
      );
    return dumps.join('\n');
  } finally {
    await database.end();
  }
}

async function dumpRedis(): Promise<string> {
  const redis = openRedis(tollgate.redisUrl, {
    role: 'plain',
    name: 'spec',
    onError: () => undefined,
  });
  await redisReady(redis, 5_000);
  try {
    const dumps = await Promise.all(
      (await redis.keys('*')).map(
        async (name) => `${name} ${(await redis.dumpBuffer(name))?.toString('latin1')}`,
      ),
    );
    return dumps.join('\n');
  } finally {
    redis.disconnect();
  }
}

test('S6: an address in the body or a header of a request leads nowhere', async () => {
  const elsewhere = 'http://127.0.0.1:1/v1';
  const response = await fetch(`${tollgate.nodeUrls[0]}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-api-base': elsewhere,
      'x-upstream-url': elsewhere,
      'x-forwarded-host': '127.0.0.1:1',
    },
    body: JSON.stringify({
      model: model.name,
      api_base: elsewhere,
      base_url: elsewhere,
      metadata: { api_base: elsewhere, user_config: { base_url: elsewhere } },
      messages: [{ role: 'user', content: '@demo tokens=2' }],
    }),
  });
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ usage: { completion_tokens: 2 } });
});

test('S39: no other origin is allowed to a browser, on either interface', async () => {
  for (const origin of ['https://elsewhere.example', 'null']) {
    for (const [url, token] of [
      [`${tollgate.nodeUrls[0]}/v1/models`, key],
      [`${tollgate.adminUrl}/admin-api/auth/me`, tollgate.admin.token],
    ] as const) {
      for (const method of ['GET', 'OPTIONS']) {
        const { headers } = await fetch(url, {
          method,
          headers: {
            origin,
            authorization: `Bearer ${token}`,
            'access-control-request-method': 'GET',
          },
        });
        expect([
          headers.get('access-control-allow-origin'),
          headers.get('access-control-allow-credentials'),
        ]).toEqual([null, null]);
      }
    }
  }
});

test('S41: what users name is inert: no markup in names people sign in with, and nothing that a browser would run elsewhere', async () => {
  const image = '<img src=x onerror=alert(1)>';
  expect(
    await refusal(new AdminClient(tollgate.adminUrl).register(image, 'a long secret')),
  ).toMatchObject({ status: 400 });
  expect(
    await refusal(
      tollgate.admin.call('POST', '/proxy-nodes', { name: 'node', url: 'javascript:alert(1)' }),
    ),
  ).toMatchObject({ status: 400 });
  await customer.client.createKey({ name: image });
  const response = await fetch(`${tollgate.frontDoorUrl}/admin-api/keys`, {
    headers: { authorization: `Bearer ${customer.client.token}` },
  });
  expect(await response.text()).toContain(JSON.stringify(image));
  expect(response.headers.get('content-type')).toContain('application/json');
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  expect(response.headers.get('content-security-policy')).not.toContain('unsafe-inline');
});

test('S43: registering many accounts from one address is capped, and a new account has nothing to spend', async () => {
  const anonymous = new AdminClient(tollgate.adminUrl);
  const ids = [];
  // The customer above was one of them.
  for (let count = 0; count <= REGISTRATIONS; count += 1)
    ids.push(
      await anonymous
        .register(canary('user').slice(0, 40), 'a long secret')
        .catch((error: AdminRefusal) => error),
    );
  expect(ids.at(-1)).toMatchObject({ status: 429, code: 'registration_limit' });
  const id = ids.find((one) => typeof one === 'number');
  if (id !== undefined)
    expect(await tollgate.admin.call('GET', `/wallet?user_id=${id}`)).toMatchObject({
      balance: '0',
    });
});

test('S45: nothing listens beyond the loopback address unless configured to', async () => {
  const outside = Object.values(networkInterfaces())
    .flat()
    .find((one) => one !== undefined && !one.internal && one.family === 'IPv4')?.address;
  const urls = [
    tollgate.adminUrl,
    ...tollgate.nodeUrls,
    tollgate.upstreamUrl,
    tollgate.frontDoorUrl ?? '',
  ];
  for (const port of [
    ...urls.map((url) => Number(new URL(url).port)),
    ...tollgate.services.ports.values(),
  ]) {
    expect([port, await accepts('127.0.0.1', port)]).toEqual([port, true]);
    if (outside !== undefined) expect([port, await accepts(outside, port)]).toEqual([port, false]);
  }
});

function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 2_000 });
    const answer = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket
      .once('connect', () => answer(true))
      .once('error', () => answer(false))
      .once('timeout', () => answer(false));
  });
}

test('S46: keys that share all but one character are two keys', async () => {
  for (const wrong of [
    `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`,
    `${key}A`,
    key.slice(0, -1),
    key.toUpperCase(),
  ]) {
    // Twice: what was remembered of the right key or of the first try must not let the second in.
    for (const _ of [1, 2])
      expect(JSON.parse((await chat('hello', { apiKey: wrong })).text)).toMatchObject({
        error: { code: 'invalid_api_key' },
      });
  }
});

test('S48: what callers send cannot start a line of its own in a log, nor colour a terminal', async () => {
  const forged = 'someone\n{"level":60,"msg":"forged by a caller"}\r\n\u001b[31mred';
  await refusal(login(forged, 'whatever it is'));
  await refusal(
    tollgate.admin.call(
      'GET',
      `/users?q=${encodeURIComponent(forged)}&sort=${encodeURIComponent(forged)}`,
    ),
  );
  await chat('hello', { named: forged });
  for (const name of ['control-plane', 'node-1', 'node-2', 'front-door']) {
    const lines = tollgate
      .logs(name)
      .split('\n')
      .filter((line) => line !== '');
    expect(
      lines.filter(
        (line) => line.includes('\u001b') || line.startsWith('{"level":60,"msg":"forged'),
      ),
    ).toEqual([]);
    if (name !== 'front-door')
      for (const line of lines) expect(() => JSON.parse(line)).not.toThrow();
  }
});

test('S55: no process of an installation is denied anything by its rights in Redis', async () => {
  const redis = openRedis(tollgate.redisUrl, { role: 'plain', name: 'spec', onError: () => {} });
  await redisReady(redis, 5_000);
  const denied = await redis.call('ACL', 'LOG');
  redis.disconnect();
  // CLIENT SETINFO is unknown to Redis 7.0, so it cannot be granted; what connects does without. A node that starts before the functions are
  // loaded tries to, and waits for the control plane.
  const texts = [denied].flat().map((entry) => JSON.stringify(entry));
  expect(texts.filter((text) => !/client\|setinfo|function\|load/.test(text))).toEqual([]);
});
