import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { closeClient, readUsage, sendRequest, type Target, SHORT_CHAT } from '@tollgate/audit';
import {
  createCustomer,
  startTollgate,
  type Customer,
  type Tollgate,
  until,
} from '@tollgate/harness';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createTarget } from './create-target.ts';

const TOKENS = 100_000;
const REQUESTS = 5;
/** Is the number of kills at each point. */
const KILLS = Number(process.env.KILLS ?? 1);
const KILL_TIMEOUT_MS = 90_000;
const PRELOAD = path.join(import.meta.dirname, 'worker-kill-points.mjs');

const REACHED_MS = 40_000;

let orders: string;
let tollgate: Tollgate;
let customer: Customer;
let target: Target;
beforeAll(async () => {
  orders = mkdtempSync(path.join(tmpdir(), 'tollgate-kill-points-'));
  tollgate = await startTollgate({
    nodes: 1,
    env: { NODE_OPTIONS: `--import ${PRELOAD}`, KILL_POINTS: orders },
  });
  customer = await createCustomer(tollgate);
  target = await createTarget(tollgate, { customer, tokens: TOKENS });
}, 120_000);
afterAll(async () => {
  closeClient();
  await tollgate?.stop();
  rmSync(orders, { recursive: true, force: true });
}, 60_000);

test.each(['before-commit', 'before-acknowledgement', 'after-acknowledgement'])(
  'a worker killed %s books nothing twice and loses nothing',
  async (point) => {
    for (let kill = 0; kill < KILLS; kill += 1) await killedAt(point);
  },
  KILLS * KILL_TIMEOUT_MS,
);

async function killedAt(point: string): Promise<void> {
  const known = (await readUsage(tollgate.databaseUrl)).size;
  writeFileSync(path.join(orders, point), '');
  const records = await Promise.all(
    Array.from({ length: REQUESTS }, () => sendRequest(SHORT_CHAT, target)),
  );
  expect(records.map(({ ending }) => ending)).toEqual(
    Array.from({ length: REQUESTS }, () => 'completed'),
  );
  await until('the end of the worker', () => !tollgate.isRunning('control-plane'), REACHED_MS);
  await tollgate.restart('control-plane');
  await until(
    'every request in the books',
    async () => (await readUsage(tollgate.databaseUrl)).size === known + REQUESTS,
    REACHED_MS,
  );
  const usage = await readUsage(tollgate.databaseUrl);
  const charged = [...usage.values()].reduce((sum, { delta }) => sum + delta, 0);
  expect([...usage.values()].every(({ delta, charge }) => delta === charge)).toBe(true);
  await until(
    'the charged balance',
    async () => (await customer.client.list('/models/my'))[0]?.tokens === TOKENS - charged,
    REACHED_MS,
  );
}
