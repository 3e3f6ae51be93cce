import { closeClient, readUsage, sendRequest, type Target, SHORT_CHAT } from '@tollgate/audit';
import { createCustomer, startTollgate, type Tollgate, until } from '@tollgate/harness';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { createTarget } from './create-target.ts';

const TOKENS = 100_000;
const REQUESTS = 5;
/** 5 s are given to running jobs; the rest is for a loaded machine. It is less than the 20 s after which the process would end itself. */
const STOPPED_WITHIN_MS = 12_000;
const BOOKED_WITHIN_MS = 60_000;

let tollgate: Tollgate;
let target: Target;
beforeAll(async () => {
  tollgate = await startTollgate({ nodes: 1 });
  target = await createTarget(tollgate, {
    customer: await createCustomer(tollgate),
    tokens: TOKENS,
  });
}, 120_000);
afterAll(async () => {
  closeClient();
  await tollgate?.stop();
}, 60_000);

test('a control plane whose bookings are stuck in PostgreSQL stops within its bound; what it left is booked once by the next', async () => {
  const blocker = new pg.Client({ connectionString: tollgate.databaseUrl });
  await blocker.connect();
  await blocker.query('BEGIN; LOCK TABLE usage_events IN ACCESS EXCLUSIVE MODE');
  const ask = () => sendRequest(SHORT_CHAT, target);
  const records = await Promise.all(Array.from({ length: REQUESTS }, ask));
  expect(records.map(({ ending }) => ending)).toEqual(Array(REQUESTS).fill('completed'));
  // A transaction sees the activity of its first look until it asks again.
  const looksAgain = 'SELECT pg_stat_clear_snapshot()';
  const stuck = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%usage_events%'`;
  await until('a stuck booking', async () => {
    await blocker.query(looksAgain);
    return (await blocker.query(stuck)).rowCount !== 0;
  });
  const stopping = performance.now();
  await tollgate.kill('control-plane', 'SIGTERM');
  const stoppedInMs = performance.now() - stopping;
  expect(stoppedInMs).toBeLessThan(STOPPED_WITHIN_MS);
  await blocker.query('ROLLBACK');
  await blocker.end();
  await tollgate.restart('control-plane');
  const booked = () => readUsage(tollgate.databaseUrl);
  await until(
    'every request in the books',
    async () => (await booked()).size === REQUESTS,
    BOOKED_WITHIN_MS,
  );
  const rows = [...(await booked()).values()];
  expect(rows.every(({ delta, charge }) => delta === charge)).toBe(true);
}, 180_000);
