import { execFile, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import {
  createCustomer,
  createRoutedModel,
  letPass,
  opsEnvironment,
  startTollgate,
  subscribeWithKey,
  type Tollgate,
  until,
} from '@tollgate/harness';

const OPS = path.join(import.meta.dirname, '../../../apps/control-plane/dist/ops.js');
/** `BACKUP_ROWS` sets another size. */
const ROWS = Number(process.env.BACKUP_ROWS ?? 200_000);
const DAYS = 5;
/** Is the number of days for which the product makes partitions ahead. */
const AHEAD = 7;
const LISTS = 200;
const LOCKED_WITHIN_MS = 120_000;
const PAUSE_MS = 50;
/** The control plane tries again each minute. */
const MADE_WITHIN_MS = 150_000;
const MISSING = `SELECT count(*)::int AS days FROM generate_series(1, ${AHEAD}) n
  WHERE to_regclass('usage_events_' || to_char((now() AT TIME ZONE 'UTC')::date + n, 'YYYYMMDD')) IS NULL`;
const LOCKED = `SELECT count(*)::int AS locks FROM pg_locks JOIN pg_stat_activity USING (pid)
  WHERE relation = 'usage_events'::regclass AND query LIKE 'COPY%' AND granted`;

let tollgate: Tollgate;
let database: pg.Client;
let folder: string;
let backup: ChildProcess | undefined;
let key: string;
let model: string;
/** Ends the load, also when the test fails. */
const over = new AbortController();
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'tollgate-beside-'));
  tollgate = await startTollgate({ nodes: 1, controlPlanes: 2 });
  const [customer, routed] = [await createCustomer(tollgate), await createRoutedModel(tollgate)];
  model = routed.name;
  key = await subscribeWithKey(customer, { modelIds: [routed.id], tokens: 10_000_000 });
  await tollgate.admin.syncAll();
  database = new pg.Client({ connectionString: tollgate.databaseUrl });
  await database.connect();
  for (let ago = 1; ago <= DAYS; ago += 1) await fill(ago);
}, 900_000);
afterAll(async () => {
  over.abort();
  backup?.kill('SIGKILL');
  await database?.end();
  await tollgate?.stop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

test('a control plane starts, and requests and their list are answered by another, while a backup keeps the days ahead from being made', async () => {
  for (let ahead = 1; ahead <= AHEAD; ahead += 1)
    await database.query(`DROP TABLE usage_events_${dayOf(-ahead).replaceAll('-', '')}`);
  const load = startLoad();
  const env = { PATH: process.env.PATH, ...opsEnvironment(tollgate.services.databaseUrls) };
  backup = execFile(process.execPath, [OPS, 'backup', folder], { env });
  await until('the backup reads the requests', isLocked, LOCKED_WITHIN_MS);
  // The transaction of the stopped backup keeps the locks for as long as this test needs.
  backup.kill('SIGSTOP');
  load.times.length = 0;
  await tollgate.restart('control-plane-2');
  await until('many lists were answered', () => load.times.length >= LISTS, LOCKED_WITHIN_MS);
  const missing = await database.query(MISSING);
  backup.kill('SIGCONT');
  expect(await once(backup, 'exit')).toEqual([0, null]);
  const failures = await load.end();
  const sorted = load.times.toSorted((a, b) => a - b);
  const quantile = (q: number): string => `${sorted[Math.floor(sorted.length * q)]?.toFixed(0)} ms`;
  console.log(
    `usage/logs of ${ROWS} rows beside a backup: ${sorted.length} times, p50 ${quantile(0.5)}, p99 ${quantile(0.99)}, longest ${sorted.at(-1)?.toFixed(0)} ms`,
  );
  expect(missing.rows).toEqual([{ days: AHEAD }]);
  expect(failures).toEqual([]);
  await until(
    'the days are made once the backup has ended',
    async () => (await database.query(MISSING)).rows[0].days === 0,
    MADE_WITHIN_MS,
  );
}, 900_000);

async function isLocked(): Promise<boolean> {
  return (await database.query(LOCKED)).rows[0].locks > 0;
}

/** Sends requests of a customer, and lists them as an administrator, until the end. */
function startLoad(): { times: number[]; end: () => Promise<unknown[]> } {
  const [failures, times]: [unknown[], number[]] = [[], []];
  const repeated = async (ask: () => Promise<unknown>): Promise<void> => {
    while (!over.signal.aborted) {
      await ask().catch((error: unknown) => failures.push(error));
      await letPass(PAUSE_MS, 'a caller asks again and again');
    }
  };
  const list = async (): Promise<void> => {
    const startedAt = performance.now();
    await tollgate.admin.call('GET', '/usage/logs');
    times.push(performance.now() - startedAt);
  };
  const working = Promise.all([repeated(request), repeated(list)]);
  const end = async (): Promise<unknown[]> => {
    over.abort();
    await working;
    return failures;
  };
  return { times, end };
}

/** Returns the day that many days ago. */
function dayOf(ago: number): string {
  return new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
}

async function fill(ago: number): Promise<void> {
  const [from, to] = [dayOf(ago), dayOf(ago - 1)];
  const table = `usage_events_${from.replaceAll('-', '')}`;
  await database.query(
    `CREATE TABLE IF NOT EXISTS ${table} PARTITION OF usage_events FOR VALUES FROM ('${from}') TO ('${to}')`,
  );
  const at = `'${from}'::timestamptz + n * interval '1 day' / ${ROWS}`;
  await database.query(
    `INSERT INTO usage_events (day, rid, seq, kind, user_id, subscription_id, model_id, key_id, delta, charge, basis, node, protocol, is_stream, upstream_id, attempts, outcome, status, input_tokens, output_tokens, started_at, duration_ms)
     SELECT '${from}', uuidv7(${at} - clock_timestamp()), 0, 'usage', 1, 1, 1, 1, 900, 900, 'reported', 'node-1:0', 'chat', true, 1, '[]', 'completed', 200, 700, 150, ${at}, 1300
     FROM generate_series(1, ${ROWS / DAYS}) n`,
  );
}

async function request(): Promise<void> {
  const response = await fetch(`${tollgate.nodeUrls[0]}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 5, messages: [{ role: 'user', content: 'hello' }] }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
}
