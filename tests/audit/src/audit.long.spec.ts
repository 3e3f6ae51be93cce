import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  createCustomer,
  createRoutedModel,
  runOps,
  startTollgate,
  subscribeWithKey,
  type Customer,
  type RoutedModel,
  type Tollgate,
} from '@tollgate/harness';
import { keysLike, openRedis, redisReady, type RedisConnection } from '@tollgate/keyspace';
import pg from 'pg';
import { auditBooks } from './books/audit-books.ts';
import { concludeBooks, describeFindings, isSound, type Finding } from './books/finding.ts';
import { DAMAGES } from './damages.ts';
import { auditLoad } from './load/audit-load.ts';
import { MULTIPLIERS } from './load/load-models.ts';
import { planRequests, SHORT_CHAT } from './load/plan-requests.ts';
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
  let apiKey: string;
  let database: pg.Client;
  let redis: RedisConnection;

  beforeAll(async () => {
    tollgate = await startTollgate({ nodes: 1 });
    customer = await createCustomer(tollgate);
    model = await createRoutedModel(tollgate);
    const premium = await createRoutedModel(tollgate, {
      protocols: ['openai'],
      weight_cache_write: '1.25',
      multipliers: { ...MULTIPLIERS, 'service_tier=scale': '3' },
    });
    apiKey = await subscribeWithKey(customer, { modelIds: [model.id, premium.id] });
    await customer.client.call('POST', '/budgets', {
      ...{ scope: { user_id: customer.id }, unit: 'charged_tokens', period: 'none' },
      amount: 10_000_000,
    });
    await tollgate.admin.syncAll();
    const origin = tollgate.nodeUrls[0] ?? '';
    for (const plan of planRequests(10, 1, { customers: 1, models: 1, addresses: 1 }))
      if (plan.protocol !== 'embeddings')
        await sendRequest(plan, { origin, apiKey, model: model.name });
    for (const isEveryClass of [true, false])
      await sendRequest(
        { ...SHORT_CHAT, isEveryClass, isPremium: true },
        { origin, apiKey, model: premium.name },
      );
    const closed = await createRoutedModel(tollgate);
    await customer.client.subscribe({ model_id: closed.id, tokens: 1_000_000 });
    await customer.client.call('POST', '/models/unsubscribe', { model_id: closed.id });
    await tollgate.admin.call('POST', '/wallet/adjust', {
      user_id: customer.id,
      amount: '3',
      note: 'a correction',
    });
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

  /** Returns the names of the checks that fail while the books are as `damage` left them; `repair` undoes it. */
  async function brokenBy(damage: string, repair: string): Promise<string[]> {
    // Append-only tables refuse every role; a disk or an operator with enough rights would not ask.
    await database.query(`SET session_replication_role = replica; ${damage}`);
    try {
      return (await auditBooks(tollgate, { drainMs: 0 }))
        .filter(({ problems }) => problems.length > 0)
        .map(({ name }) => name);
    } finally {
      await database.query(repair);
    }
  }

  test.each(DAMAGES)('%s', async (_what, damage, repair, expected) => {
    expect(await brokenBy(damage, repair)).toEqual(expected);
    expectSound(await auditBooks(tollgate, { drainMs: 0 }));
  });

  test('a multiplier that was applied wrongly, which the audit of the server reports too', async () => {
    const audit = () =>
      runOps({ DATABASE_URL: tollgate.databaseUrl }, 'audit').then(({ status, out }) => ({
        status,
        broken: out.split('\n').filter((line) => line.startsWith('BROKEN')),
      }));
    expect(await audit()).toEqual({ status: 0, broken: [] });
    await database.query(
      `UPDATE usage_events SET charge = charge + 1, delta = delta + 1 WHERE premiums IS NOT NULL`,
    );
    const found = await audit();
    await database.query(
      `UPDATE usage_events SET charge = charge - 1, delta = delta - 1 WHERE premiums IS NOT NULL`,
    );
    expect(found).toEqual({
      status: 1,
      broken: [
        expect.stringMatching(/^BROKEN budgets: /),
        expect.stringMatching(/^BROKEN charges: .*; 2 rows break it, e\.g\. \{"rid":"/),
      ],
    });
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
      /^The totals were computed again from the roll-ups: \d+ hourly and \d+ daily rows\.\n$/,
    );
    expectSound(await auditBooks(tollgate, { drainMs: 0 }));
  });

  test('a balance in Redis that differs from PostgreSQL', async () => {
    const [key = ''] = await keysLike(redis, `*:sub:${customer.id}:${model.id}`);
    await redis.hincrby(key, 'bal', 1);
    const findings = await auditBooks(tollgate, { drainMs: 0 });
    await redis.hincrby(key, 'bal', -1);
    expect(findings.filter(({ problems }) => problems.length > 0).map(({ name }) => name)).toEqual([
      'live balances',
    ]);
  });

  test.each([
    ['used', '5,0'],
    ['held', '0,5'],
  ])('a budget in Redis of which another amount is %s', async (_what, added) => {
    const [key = ''] = await keysLike(redis, `*:bud:${customer.id}`);
    const counts = await redis.hgetall(key);
    const [name, count] = Object.entries(counts)[0] ?? ['', ''];
    const sum = count.split(',').map((n, at) => Number(n) + Number(added.split(',')[at]));
    await redis.hset(key, name, sum.join());
    const findings = await auditBooks(tollgate, { drainMs: 0 });
    await redis.hset(key, name, count);
    expect(findings.filter(({ problems }) => problems.length > 0).map(({ name }) => name)).toEqual([
      'live budgets',
    ]);
  });

  test('an event that never left its outbox: balances are not judged, and that is said', async () => {
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
    expect(
      findings.filter(({ notJudged }) => notJudged !== undefined).map(({ name }) => name),
    ).toEqual(['closed subscriptions', 'live balances', 'live budgets']);
    expect(concludeBooks(findings).exitStatus).toBe(3);
  });

  test('books that close while traffic runs: each comparison is of one moment of rest, or none is made', async () => {
    const origin = tollgate.nodeUrls[0] ?? '';
    let isOver = false;
    const plans = planRequests(400, SEED, { customers: 1, models: 1, addresses: 1 });
    const traffic = (async () => {
      for (const plan of plans)
        if (!isOver && plan.protocol !== 'embeddings')
          await sendRequest(plan, { origin, apiKey, model: model.name });
    })();
    const verdicts: number[] = [];
    // The looks are short, so that many of them end among running requests; they must never say that the books do not close.
    for (let audits = 0; audits < 20; audits += 1)
      verdicts.push(concludeBooks(await auditBooks(tollgate, { drainMs: 50 })).exitStatus);
    isOver = true;
    await traffic;
    expect(verdicts.filter((verdict) => verdict === 1)).toEqual([]);
    expect(verdicts).toContain(3);
    expectSound(await auditBooks(tollgate, { drainMs: 10_000 }));
  }, 120_000);
});
