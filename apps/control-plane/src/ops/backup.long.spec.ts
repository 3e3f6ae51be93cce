import { isDeepStrictEqual } from 'node:util';
import { spawn } from 'node:child_process';
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually, opsEnvironment, runOps } from '@tollgate/harness';
import type { RedisConnection } from '@tollgate/keyspace';
import pg from 'pg';
import { ledgerOf } from '../testing/ledger-under-test.ts';
import { REDIS } from '../platform/redis/redis.module.ts';
import { startControlPlane, type ControlPlane } from '../testing/control-plane-under-test.ts';

let plane: ControlPlane;
let folder: string;
beforeAll(async () => {
  plane = await startControlPlane();
  folder = mkdtempSync(path.join(tmpdir(), 'tollgate-backup-'));
  const ledger = ledgerOf(plane);
  await ledger.initialiseShards();
  const [account, model] = [await ledger.account('10'), await ledger.model('1')];
  await plane.call('POST', '/models/subscribe', {
    token: account.token,
    body: { model_id: model.id, tokens: 1_000 },
  });
  // The rows have values that a careless copy would change: partitions, an odd day, text that looks like NULL or an escape, arrays, a large number.
  await ledger.query(
    `INSERT INTO usage_events (day, rid, seq, kind, user_id, subscription_id, model_id, delta, node, started_at, attempts)
     SELECT d::date, gen_random_uuid(), 0, 'usage', 1, 1, 1, 9007199254740993, E'\\\\N \\t "x"\\nä', d + interval '1 microsecond', '[{"a": 1.10}]'
     FROM (VALUES (now()), (now() - interval '400 days')) AS days (d)`,
  );
}, 180_000);
afterAll(async () => {
  await plane?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const backUp = async (): Promise<string> => {
  const { status, out, err } = await runOps(plane.environment, 'backup', folder);
  expect({ status, err: status === 0 ? '' : err }).toEqual({ status: 0, err: '' });
  return out.trim();
};
/** `url` is the administrator's, `env` what the roles of the installation have. */
async function emptyDatabase(): Promise<{ url: string; env: Record<string, string> }> {
  const url = await plane.services.createDatabase();
  return { url, env: opsEnvironment(plane.services.urlsOf(url)) };
}
async function contentOf(databaseUrl: string): Promise<Map<string, string[]>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows: tables } = await client.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname NOT IN ('migrations', 'restores', 'alerts', 'alert_deliveries', 'stream_events', 'stream_horizon')",
  );
  const content = new Map<string, string[]>();
  for (const { name } of tables) {
    const { rows } = await client.query<{ text: string }>(
      `SELECT t::text AS text FROM "${name}" t ORDER BY 1`,
    );
    content.set(
      name,
      rows.map(({ text }) => text),
    );
  }
  await client.end();
  return content;
}

/** Backs up again while a background task of the control plane writes in between: the copy is of one moment, which then is not that of `before`. */
async function backUpAtRest(): Promise<{ before: Map<string, string[]>; backup: string }> {
  for (;;) {
    const before = await contentOf(plane.services.databaseUrl);
    const backup = await backUp();
    if (isDeepStrictEqual(await contentOf(plane.services.databaseUrl), before))
      return { before, backup };
  }
}

test('a restored database has every row of the moment of the backup, and works on', async () => {
  const { before, backup } = await backUpAtRest();
  const target = await emptyDatabase();
  const dry = await runOps(target.env, 'restore', backup, '--dry-run');
  expect([dry.status, dry.out]).toEqual([0, expect.stringContaining('It would load')]);
  expect((await contentOf(target.url)).size).toBe(0);
  const restored = await runOps(target.env, 'restore', backup);
  expect({ ...restored, err: '' }).toEqual({
    status: 0,
    err: '',
    out: expect.stringContaining('Start the control planes'),
  });
  const after = await contentOf(target.url);
  expect([...after.keys()].toSorted()).toEqual([...before.keys()].toSorted());
  for (const [table, rows] of before) expect([table, after.get(table)]).toEqual([table, rows]);
  expect((await runOps(target.env, 'verify')).status).toBe(0);
  const client = new pg.Client({ connectionString: target.url });
  await client.connect();
  await client.query("INSERT INTO users (username, password_hash) VALUES ('next', 'x')");
  await expect(client.query('UPDATE ledger_entries SET amount = 0')).rejects.toThrow();
  await client.end();
}, 120_000);

test('a repeated restore changes nothing; a database in use and a damaged or unfinished backup are refused', async () => {
  const backup = await backUp();
  const target = await emptyDatabase();
  expect((await runOps(target.env, 'restore', backup)).status).toBe(0);
  const first = await contentOf(target.url);
  expect((await runOps(target.env, 'restore', backup)).status).toBe(0);
  expect(await contentOf(target.url)).toEqual(first);
  const other = await backUp();
  const used = await runOps(target.env, 'restore', other);
  expect([used.status, used.err]).toEqual([2, expect.stringContaining('Restore into an empty')]);
  expect((await runOps({}, 'verify', other)).status).toBe(0);
  appendFileSync(path.join(other, 'users.copy.gz'), 'x');
  expect(await runOps({}, 'verify', other)).toMatchObject({
    status: 1,
    out: 'users.copy.gz is missing or damaged.\n',
  });
  const empty = await emptyDatabase();
  expect(await runOps(empty.env, 'restore', other)).toMatchObject({
    status: 2,
    err: expect.stringContaining('users.copy.gz'),
  });
  expect((await contentOf(empty.url)).size).toBe(0);
  rmSync(path.join(other, 'manifest.json'));
  expect((await runOps(empty.env, 'restore', other)).status).toBe(2);
}, 120_000);

test('a backup of a later release is refused by name, and one of a development build with what to do', async () => {
  const backup = await backUp();
  const file = path.join(backup, 'manifest.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as { migrations: string[] };
  manifest.migrations.push('Future1999999999999');
  writeFileSync(file, JSON.stringify(manifest));
  expect(await runOps((await emptyDatabase()).env, 'restore', backup)).toMatchObject({
    status: 2,
    err: expect.stringContaining('Future1999999999999'),
  });
  writeFileSync(file, JSON.stringify({ ...manifest, migrations: ['Initial1763683200000'] }));
  expect(await runOps((await emptyDatabase()).env, 'restore', backup)).toMatchObject({
    status: 2,
    err: expect.stringMatching(/development build.*\n {2}Fix: start with an empty database/),
  });
}, 60_000);

test('an interrupted backup leaves nothing that looks like one, and the next removes its rest', async () => {
  const before = readdirSync(folder);
  await plane.dataSource.query(
    "INSERT INTO usage_rollups SELECT now() - n * interval '1 hour', 1, n, 1, 0, 0, 0, 0, 0, 0, 0, 0, '{}', '{}' FROM generate_series(1, 300000) n",
  );
  const child = spawn(
    process.execPath,
    [path.join(import.meta.dirname, '../../dist/ops.js'), 'backup', folder],
    { env: { PATH: process.env.PATH, ...plane.environment }, stdio: 'ignore' },
  );
  await eventually(async () =>
    expect(
      readdirSync(folder).flatMap((name) =>
        name.endsWith('.part') ? readdirSync(path.join(folder, name)) : [],
      ),
    ).toContain('usage_rollups.copy.gz'),
  );
  child.kill('SIGINT');
  await new Promise((resolve) => child.on('exit', resolve));
  expect(readdirSync(folder).filter((name) => !name.endsWith('.part'))).toEqual(before);
  await backUp();
  expect(readdirSync(folder)).toHaveLength(before.length + 1);
  await plane.dataSource.query('DELETE FROM usage_rollups WHERE key_id > 0 AND requests = 0');
}, 120_000);

test('audit, epochs, prune, rotate and migrate answer what they found by their exit status', async () => {
  const { environment } = plane;
  expect(await runOps(environment, 'migrate', '--dry-run')).toMatchObject({ status: 0, out: '' });
  expect(await runOps((await emptyDatabase()).env, 'migrate', '--dry-run')).toMatchObject({
    status: 0,
    out: plane.dataSource.migrations.map((each) => `${each.constructor.name}\n`).join(''),
  });
  expect((await runOps(environment, 'epochs')).out).toMatch(/^s00 \S+ the same in Redis\n/);
  await plane.dataSource.query(
    'INSERT INTO restores (backup_id, taken_at) VALUES (gen_random_uuid(), now())',
  );
  expect(await runOps(environment, 'epochs', 'refill')).toMatchObject({
    status: 2,
    err: expect.stringContaining('A restore is open. Run tollgate-ops loss'),
  });
  await plane.dataSource.query('DELETE FROM restores');
  expect(await runOps(environment, 'rotate', 'encryption-key', '--dry-run')).toMatchObject({
    status: 0,
    out: 'It would seal 0 of 0 upstream keys again.\n',
  });
  expect((await runOps(environment, 'prune', '--dry-run')).status).toBe(0);
  await plane.dataSource.query('UPDATE subscriptions SET balance = balance + 1');
  expect(await runOps(environment, 'audit')).toMatchObject({
    status: 1,
    out: expect.stringMatching(/BROKEN token_balances.*BROKEN live_balances/s),
  });
  await plane.dataSource.query('UPDATE subscriptions SET balance = balance - 1');
  expect(await runOps(environment, 'audit')).toMatchObject({
    status: 0,
    out: expect.stringContaining('ok     live_balances'),
  });
  const [record = ''] = await plane.app.get<RedisConnection>(REDIS).keys('*:sub:*');
  await plane.app.get<RedisConnection>(REDIS).hset(record, 'bal', 'nan');
  const found = await runOps(environment, 'audit');
  expect(found).toMatchObject({
    status: 1,
    out: expect.stringMatching(/BROKEN live_balances: the balance of .* cannot be read/),
  });
  const [, remedy = ''] =
    /Fix if it stays: tollgate-ops (epochs refill s\d\d)/.exec(found.out) ?? [];
  expect((await runOps(environment, ...remedy.split(' '))).status).toBe(0);
  expect((await runOps(environment, 'audit')).status).toBe(0);
  expect((await runOps(environment, 'audit', 'all')).status).toBe(2);
  expect((await runOps({}, 'audit')).status).toBe(2);
}, 120_000);
