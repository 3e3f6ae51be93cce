import { beforeAll, describe, expect, test } from '@jest/globals';
import { openRedis, redisReady } from '@tollgate/keyspace';
import pg from 'pg';
import path from 'node:path';
import { settledRows } from './books.ts';
import {
  chat,
  customer,
  failing,
  identified,
  key,
  login,
  refusal,
  secrets,
  tollgate,
} from './security-under-test.ts';
import { diskTexts, redisTexts } from './stored-texts.ts';

describe('S13: a secret stays with its owner', () => {
  const places: Record<string, string> = {};

  beforeAll(async () => {
    const { rid } = await chat('@demo tokens=3');
    await chat('@demo tokens=3', { stream: true });
    const failures = await Promise.all(
      ['500', 'garbage', 'dies'].map((mode) => chat(`@demo mode=${mode}`, { named: failing.name })),
    );
    for (const { name } of identified) failures.push(await chat('@demo tokens=3', { named: name }));
    // This failure is the last, because the route rests from here on.
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
      '/upstreams/1',
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
    places['Redis, snapshots and jobs included'] = await textsOfRedis();
    const nodes = path.join(tollgate.services.folder, 'nodes');
    places['journals and snapshots of nodes'] = (await diskTexts(nodes)).join('\n');
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

  test('nor is an API key, a session or what signs and seals (S10)', () => {
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

async function textsOfRedis(): Promise<string> {
  const redis = openRedis(tollgate.redisUrl, {
    role: 'plain',
    name: 'spec',
    onError: () => undefined,
  });
  await redisReady(redis, 5_000);
  try {
    return (await redisTexts(redis)).join('\n');
  } finally {
    redis.disconnect();
  }
}

test('S46: keys that share all but one character are two keys', async () => {
  for (const wrong of [
    `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`,
    `${key}A`,
    key.slice(0, -1),
    key.toUpperCase(),
  ]) {
    // The request is sent twice: what was remembered of the right key or of the first try must not let the second in.
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
