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
import { keysLike, openRedis, redisReady, type RedisConnection } from '@tollgate/keyspace';
import pg from 'pg';
import { auditBooks } from './books/audit-books.ts';
import { concludeBooks, describeFindings, isSound, type Finding } from './books/finding.ts';
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
  let apiKey: string;
  let database: pg.Client;
  let redis: RedisConnection;

  beforeAll(async () => {
    tollgate = await startTollgate({ nodes: 1 });
    customer = await createCustomer(tollgate);
    model = await createRoutedModel(tollgate);
    apiKey = await subscribeWithKey(customer, { modelIds: [model.id] });
    await tollgate.admin.syncAll();
    const origin = tollgate.nodeUrls[0] ?? '';
    for (const plan of planRequests(10, 1, { customers: 1, models: 1, addresses: 1 }))
      if (plan.protocol !== 'embeddings')
        await sendRequest(plan, { origin, apiKey, model: model.name });
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

  /** Names of the checks that fail while the books are as `damage` left them; `repair` undoes it. */
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
      `UPDATE subscriptions SET balance = balance - 1 WHERE status = 'active'`,
      `UPDATE subscriptions SET balance = balance + 1 WHERE status = 'active'`,
      ['token balances', 'token equation', 'live balances'],
    ],
    [
      'a lot with a token too many',
      'UPDATE token_lots SET remaining = remaining + 1 WHERE withdrawn = 0',
      'UPDATE token_lots SET remaining = remaining - 1 WHERE withdrawn = 0',
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
    [
      'a dead letter that is called booked and is not',
      `INSERT INTO usage_dead_letters (rid, seq, delta, payload, reason, resolved_at, resolution)
       VALUES (replace('0199aaaa-0000-7000-8000-000000000000', '0199aaaa', lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint >> 16), 8, '0')), '0', '1', '{}', 'planted', now(), 'booked')`,
      'DELETE FROM usage_dead_letters',
      ['dead letters'],
    ],
    [
      'a dead letter that was dismissed without a reason',
      `INSERT INTO usage_dead_letters (rid, seq, delta, payload, reason, resolved_at, resolution) VALUES ('x', '0', '1', '{}', 'planted', now(), 'dismissed')`,
      'DELETE FROM usage_dead_letters',
      ['dead letters'],
    ],
    [
      'tokens in a closed subscription',
      `UPDATE subscriptions SET balance = balance + 7 WHERE status = 'closed'`,
      `UPDATE subscriptions SET balance = balance - 7 WHERE status = 'closed'`,
      ['token balances', 'token equation', 'closed subscriptions', 'live balances'],
    ],
    [
      'a subscription that was closed by a withdrawal that is not booked',
      `UPDATE subscriptions SET withdrawal_id = overlay(withdrawal_id::text placing 'ffff' from 33)::uuid WHERE status = 'closed'`,
      `UPDATE subscriptions s SET withdrawal_id = u.rid FROM usage_events u WHERE u.kind = 'withdraw' AND u.subscription_id = s.id AND s.status = 'closed'`,
      ['closed subscriptions'],
    ],
    [
      'a withdrawal that took more than was booked',
      `UPDATE usage_events SET delta = delta + 1 WHERE kind = 'withdraw'`,
      `UPDATE usage_events SET delta = delta - 1 WHERE kind = 'withdraw'`,
      ['token equation', 'withdrawals'],
    ],
    [
      'a lot that was refunded without money',
      `UPDATE token_lots SET refunded = refunded - 1 WHERE refunded > 0`,
      `UPDATE token_lots SET refunded = refunded + 1 WHERE refunded > 0`,
      ['withdrawals'],
    ],
    [
      'a journal that was set aside',
      `INSERT INTO alerts (rule, severity, subject, message) VALUES ('journal_set_aside', 'critical', 'node:0', 'planted')`,
      `DELETE FROM alerts WHERE subject = 'node:0'`,
      ['journals set aside'],
    ],
    [
      'an adjustment without its reason',
      `UPDATE ledger_transactions SET note = NULL WHERE kind = 'adjustment'`,
      `SET session_replication_role = replica; UPDATE ledger_transactions SET note = 'a correction' WHERE kind = 'adjustment'`,
      ['adjustments'],
    ],
    [
      'an adjustment that the activity log does not know',
      `UPDATE activity_log SET after = '{"amount": "9"}' WHERE action = 'wallet.adjustment'`,
      `SET session_replication_role = replica; UPDATE activity_log SET after = '{"note": "a correction", "amount": "3"}' WHERE action = 'wallet.adjustment'`,
      ['adjustments'],
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
    ).toEqual(['closed subscriptions', 'live balances']);
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
    // Short looks, so that many of them end among running requests; what they say of the books must never be that they do not close.
    for (let audits = 0; audits < 20; audits += 1)
      verdicts.push(concludeBooks(await auditBooks(tollgate, { drainMs: 50 })).exitStatus);
    isOver = true;
    await traffic;
    expect(verdicts.filter((verdict) => verdict === 1)).toEqual([]);
    expect(verdicts).toContain(3);
    expectSound(await auditBooks(tollgate, { drainMs: 10_000 }));
  }, 120_000);
});
