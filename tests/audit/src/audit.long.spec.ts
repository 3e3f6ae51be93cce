import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  createCustomer,
  createRoutedModel,
  startTollgate,
  subscribeWithKey,
  type Customer,
  type RoutedModel,
  type Tollgate,
} from '@tollgate/harness';
import { openRedis, redisReady, type RedisConnection } from '@tollgate/keyspace';
import pg from 'pg';
import { auditBooks } from './books/audit-books.ts';
import { describeFindings, isSound, type Finding } from './books/finding.ts';
import { auditLoad } from './load/audit-load.ts';
import { planRequests } from './load/plan-requests.ts';
import { closeClient, sendRequest } from './load/send-request.ts';

const ADMIN_PROGRAM = path.join(import.meta.dirname, '../../../apps/control-plane/dist/ops.js');
const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000);
const silent = (): void => undefined;

function expectSound(findings: readonly Finding[]): void {
  if (!isSound(findings)) throw new Error(`SEED=${SEED}\n${describeFindings(findings)}`);
}

describe('the books of a fresh installation under load', () => {
  test('close, request by request: upstream == usage == ledger == balance == Redis', async () => {
    const findings = await auditLoad({
      requests: 250,
      seed: SEED,
      kill: false,
      secondWindow: false,
      log: silent,
    });
    expectSound(findings);
    expect(findings.find(({ name }) => name === 'completed')?.compared).toBeGreaterThan(150);
    expect(findings.find(({ name }) => name === 'hung up')?.compared).toBeGreaterThan(5);
  }, 180_000);

  test('close although every process was killed with -9 once', async () => {
    expectSound(
      await auditLoad({ requests: 250, seed: SEED, kill: true, secondWindow: false, log: silent }),
    );
  }, 300_000);
});

describe('the audit finds what is wrong', () => {
  let tollgate: Tollgate;
  let customer: Customer;
  let model: RoutedModel;
  let database: pg.Client;
  let redis: RedisConnection;

  beforeAll(async () => {
    tollgate = await startTollgate({ nodes: 1 });
    customer = await createCustomer(tollgate);
    model = await createRoutedModel(tollgate);
    const apiKey = await subscribeWithKey(customer, { modelIds: [model.id] });
    await tollgate.admin.syncAll();
    const origin = tollgate.nodeUrls[0] ?? '';
    for (const plan of planRequests(10, 1, { customers: 1, models: 1, addresses: 1 }))
      if (plan.protocol !== 'embeddings')
        await sendRequest(plan, { origin, apiKey, model: model.name });
    expectSound(await auditBooks(tollgate, { drainMs: 10_000 }));
    database = new pg.Client({ connectionString: tollgate.databaseUrl });
    await database.connect();
    redis = openRedis(tollgate.redisUrl, { role: 'plain', name: 'test', onError: silent });
    await redisReady(redis, 5_000);
  }, 120_000);
  afterAll(async () => {
    closeClient();
    redis?.disconnect();
    await database?.end();
    await tollgate?.stop();
  });

  /** Names of the checks that fail while the books are as `damage` left them; `repair` undoes it. */
  async function brokenBy(damage: string, repair: string): Promise<string[]> {
    // Append-only tables say no to everybody; a disk or an operator with enough rights would not ask.
    await database.query(`SET session_replication_role = replica; ${damage}`);
    try {
      return (await auditBooks(tollgate, { drainMs: 0 }))
        .filter(({ problems }) => problems.length > 0)
        .map(({ name }) => name);
    } finally {
      await database.query(repair);
    }
  }

  test.each([
    [
      'a wallet with money from nowhere',
      `UPDATE ledger_accounts SET balance = balance + 1 WHERE kind = 'wallet'`,
      `UPDATE ledger_accounts SET balance = balance - 1 WHERE kind = 'wallet'`,
      ['wallet balances'],
    ],
    [
      'a ledger entry that was edited',
      'UPDATE ledger_entries SET amount = amount + 1 WHERE id = (SELECT max(id) FROM ledger_entries)',
      'UPDATE ledger_entries SET amount = amount - 1 WHERE id = (SELECT max(id) FROM ledger_entries)',
      ['wallet transactions', 'wallet balances'],
    ],
    [
      'a token balance that moved alone',
      'UPDATE subscriptions SET balance = balance - 1',
      'UPDATE subscriptions SET balance = balance + 1',
      ['token balances', 'token equation', 'live balances'],
    ],
    [
      'a lot with a token too many',
      'UPDATE token_lots SET remaining = remaining + 1',
      'UPDATE token_lots SET remaining = remaining - 1',
      ['token balances'],
    ],
    [
      'a charge that is not its price',
      `UPDATE usage_events SET input_tokens = input_tokens + 1 WHERE rid = (SELECT min(rid::text)::uuid FROM usage_events)`,
      `UPDATE usage_events SET input_tokens = input_tokens - 1 WHERE rid = (SELECT min(rid::text)::uuid FROM usage_events)`,
      ['prices', 'roll-ups', 'totals'],
    ],
    [
      'a roll-up that forgot a token',
      'UPDATE usage_rollups SET output_tokens = output_tokens - 1',
      'UPDATE usage_rollups SET output_tokens = output_tokens + 1',
      ['roll-ups', 'daily roll-ups'],
    ],
    [
      'a day that is not the sum of its hours',
      'UPDATE usage_rollups_daily SET charge = charge + 1',
      'UPDATE usage_rollups_daily SET charge = charge - 1',
      ['daily roll-ups'],
    ],
    [
      'totals that forgot a request',
      'UPDATE usage_totals SET requests = requests - 1',
      'UPDATE usage_totals SET requests = requests + 1',
      ['totals', 'daily totals'],
    ],
    [
      'a total of a day that is not the sum of its hours',
      'UPDATE usage_totals_daily SET errors = errors + 1',
      'UPDATE usage_totals_daily SET errors = errors - 1',
      ['daily totals'],
    ],
    [
      'a dead letter',
      `INSERT INTO usage_dead_letters (rid, seq, delta, payload, reason) VALUES ('x', '0', '1', '{}', 'planted')`,
      'DELETE FROM usage_dead_letters',
      ['dead letters'],
    ],
  ])('%s', async (_what, damage, repair, expected) => {
    expect(await brokenBy(damage, repair)).toEqual(expected);
    expectSound(await auditBooks(tollgate, { drainMs: 0 }));
  });

  test('totals that lack what an older release booked, until the command of the server has rebuilt them', async () => {
    expect(
      await brokenBy(
        'UPDATE usage_totals SET requests = requests - 1; DELETE FROM usage_totals_daily',
        'SELECT 1',
      ),
    ).toEqual(['totals', 'daily totals']);
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [ADMIN_PROGRAM, 'rebuild-totals'],
      { env: { DATABASE_URL: tollgate.databaseUrl } },
    );
    expect(stdout).toMatch(
      /^The totals are the sums of the roll-ups again: \d+ hourly and \d+ daily rows\.\n$/,
    );
    expectSound(await auditBooks(tollgate, { drainMs: 0 }));
  });

  test('a balance in Redis that differs from PostgreSQL', async () => {
    const [key = ''] = await redis.keys(`*:sub:${customer.id}:${model.id}`);
    await redis.hincrby(key, 'bal', 1);
    const findings = await auditBooks(tollgate, { drainMs: 0 });
    await redis.hincrby(key, 'bal', -1);
    expect(findings.filter(({ problems }) => problems.length > 0).map(({ name }) => name)).toEqual([
      'live balances',
    ]);
  });

  test('an event that never left its outbox', async () => {
    await tollgate.kill('node-1', 'SIGSTOP');
    const id = await redis.xadd(
      '{s00}:outbox',
      '*',
      'rid',
      'x',
      'seq',
      '0',
      'delta',
      '0',
      'payload',
      '{}',
    );
    const findings = await auditBooks(tollgate, { drainMs: 0 });
    await redis.xdel('{s00}:outbox', id ?? '');
    await tollgate.kill('node-1', 'SIGCONT');
    expect(
      findings.filter(({ problems }) => problems.length > 0).map(({ problems }) => problems),
    ).toEqual([['outbox of s00: 1']]);
  });
});
