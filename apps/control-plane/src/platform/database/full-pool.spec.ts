import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { QueryRunner } from 'typeorm';
import { eventually } from '@tollgate/harness';
import { ledgerOf } from '../../testing/ledger-under-test.ts';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';

const POOL = 5;

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({ DATABASE_POOL_MAX: String(POOL) });
}, 60_000);
afterAll(() => plane?.stop());

test('a request that gets no connection to PostgreSQL in time is answered 503 with Retry-After, and served when it is repeated', async () => {
  const runners: QueryRunner[] = [];
  while (runners.length < POOL) {
    const runner = plane.dataSource.createQueryRunner();
    // The control plane's background work waits for the same connections.
    const isConnected = await runner.connect().then(
      () => true,
      () => false,
    );
    if (isConnected) runners.push(runner);
  }
  const ask = () => plane.call('GET', '/models', { token: plane.adminToken });
  try {
    const answer = await ask();
    expect(answer).toMatchObject({ status: 503, body: { code: 'service_unavailable' } });
    expect(answer.headers.get('retry-after')).toBe('5');
  } finally {
    await Promise.all(runners.map((runner) => runner.release()));
  }
  expect((await ask()).status).toBe(200);
}, 60_000);

test('parallel purchases of one account, which wait for the same row, leave connections to the others', async () => {
  const ledger = ledgerOf(plane);
  await ledger.initialiseShards();
  const [buyer, other] = [await ledger.account('1000'), await ledger.account('1000')];
  const model = await ledger.model('1');
  const body = { model_id: model.id, tokens: 1 };
  const buy = (path: '/models/subscribe' | '/models/renew') =>
    plane.call('POST', path, { token: buyer.token, body });
  await buy('/models/subscribe');
  const { id } = await ledger.subscription(buyer, model);
  const runner = plane.dataSource.createQueryRunner();
  await runner.startTransaction();
  await runner.query('SELECT 1 FROM subscriptions WHERE id = $1 FOR UPDATE', [id]);
  const purchases = Promise.all(Array.from({ length: 12 }, () => buy('/models/renew')));
  const waiting = async (): Promise<number> => {
    // A transaction sees the activity of its first look until it asks again.
    await runner.query('SELECT pg_stat_clear_snapshot()');
    const [{ count }] = await runner.query(
      "SELECT count(*)::int FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
    );
    return count;
  };
  try {
    await eventually(async () => expect(await waiting()).toBeGreaterThanOrEqual(2));
    const answer = await plane.call('GET', '/models/my', { token: other.token });
    expect([answer.status, await waiting()]).toEqual([200, 2]);
  } finally {
    await runner.rollbackTransaction();
    await runner.release();
  }
  expect((await purchases).map(({ status }) => status)).toEqual(Array(12).fill(200));
}, 60_000);

test('more administrators at once than there are connections are all served', async () => {
  const create = (name: string) =>
    plane.call('POST', '/upstreams', {
      token: plane.adminToken,
      body: {
        name,
        protocol: 'openai',
        base_url: 'http://127.0.0.1:8111/v1',
        api_key: 'sk-upstream',
      },
    });
  const names = Array.from({ length: 4 * POOL }, (_, index) => `at-once-${index}`);
  const answers = await Promise.all(names.map(create));
  expect(answers.map(({ status }) => status)).toEqual(names.map(() => 201));
}, 60_000);
