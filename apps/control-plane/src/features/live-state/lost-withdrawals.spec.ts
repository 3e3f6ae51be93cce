import { readdirSync, statSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { parseApiKey } from '@tollgate/contracts';
import { closeRedis, LiveRecords, MeteringStore, openRedis, redisReady } from '@tollgate/keyspace';
import { eventually } from '@tollgate/harness';
import { Transactions } from '../../platform/database/transactions.ts';
import { Host } from '../../platform/host/host.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { keysOf } from '../../testing/drift-under-test.ts';
import { ledgerOf, type TestAccount } from '../../testing/ledger-under-test.ts';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';
import { createApp } from '../../create-app.ts';
import { createPino } from '../../platform/logging/logger.ts';
import { loadConfig } from '../../config.ts';
import { LiveRecordWriter } from './live-record-writer.ts';
import { LiveStatePump } from './live-state-pump.ts';
import { LostTail } from './lost-tail.ts';

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
beforeAll(async () => {
  plane = await startControlPlane({}, { redis: 'single' });
  ledger = ledgerOf(plane);
  await ledger.initialiseShards();
}, 60_000);
afterAll(() => plane?.stop());

const post = <Path extends string>(path: Path, account: TestAccount, body: unknown) =>
  plane.call('POST', path, { token: account.token, body });

/** Returns the end of the append-only file now; Redis writes every command before it answers. */
function endOfFile(): { file: string; bytes: number } {
  const folder = path.join(plane.services.folder, 'redis', 'appendonlydir');
  const name = readdirSync(folder).find((each) => each.endsWith('.incr.aof'));
  if (name === undefined) throw new Error('Redis has no append-only file');
  const file = path.join(folder, name);
  return { file, bytes: statSync(file).size };
}

/** Redis dies and comes back without what it wrote after `end`. */
async function loseTail({ file, bytes }: { file: string; bytes: number }): Promise<void> {
  await plane.services.redis.kill('SIGKILL');
  truncateSync(file, bytes);
  await plane.services.redis.start();
}

const TOKENS = 50_000_000;
const READY_MS = 10_000;
/** Lists the times of all rows that Redis has too. */
const TIMES = [
  ['token_credits', 'created_at'],
  ['subscriptions', 'revised_at'],
  ['users', 'updated_at'],
  ['api_keys', 'updated_at'],
  ['ceilings', 'updated_at'],
] as const;

test('refunded tokens do not come back when Redis loses the end of its file', async () => {
  const [account, model] = [await ledger.account('100'), await ledger.model('1.5')];
  await post('/models/subscribe', account, { model_id: model.id, tokens: TOKENS });
  const end = endOfFile();
  expect(await post('/models/unsubscribe', account, { model_id: model.id })).toMatchObject({
    body: { status: 'closed', refunded_tokens: TOKENS, refunded_amount: '75' },
  });
  await loseTail(end);
  await eventually(async () =>
    expect(await ledger.live(account, model)).toMatchObject({ balance: 0, status: 'closed' }),
  );
  // The tokens bought now are all there is to spend.
  await post('/models/subscribe', account, { model_id: model.id, tokens: 1 });
  await eventually(async () =>
    expect(await ledger.live(account, model)).toMatchObject({ balance: 1, status: 'active' }),
  );
  expect(await ledger.violations()).toEqual({});
}, 60_000);

test.each(['Redis', 'the control plane'])(
  'nor do they, or the rights of a disabled key, when both were away for days and %s starts first',
  async (first) => {
    const [account, model] = [await ledger.account('100'), await ledger.model('1.5')];
    await post('/models/subscribe', account, { model_id: model.id, tokens: TOKENS });
    const { body: key } = await post('/keys', account, { name: 'a' });
    const liveKey = () =>
      plane.app.get(LiveRecords).getKey(account.id, parseApiKey(key.key)?.hash ?? '');
    const { file, bytes } = endOfFile();
    await post('/models/unsubscribe', account, { model_id: model.id });
    await post(`/keys/${key.id}/disable`, account, undefined);
    // The only control plane that repeats anything is the one that starts.
    plane.app.get(LostTail, { strict: false }).onApplicationShutdown();
    await plane.services.redis.kill('SIGKILL');
    truncateSync(file, bytes);
    for (const [table, column] of TIMES)
      await ledger.query(`UPDATE ${table} SET ${column} = ${column} - interval '3 days'`);
    if (first === 'Redis') {
      await plane.services.redis.start();
      await redisReady(plane.app.get(REDIS), READY_MS);
      expect(await ledger.live(account, model)).toMatchObject({ balance: TOKENS });
      expect(await liveKey()).toMatchObject({ status: 'enabled' });
    }
    const started = await createApp(loadConfig(plane.environment), createPino('silent'));
    try {
      if (first !== 'Redis') {
        await ledger.query('UPDATE users SET updated_at = now()');
        await plane.services.redis.start();
        await redisReady(plane.app.get(REDIS), READY_MS);
      }
      await eventually(async () =>
        expect([await ledger.live(account, model), await liveKey()]).toMatchObject([
          { balance: 0, status: 'closed' },
          { status: 'disabled' },
        ]),
      );
    } finally {
      await started.close();
      await plane.app.get(LostTail, { strict: false }).onApplicationBootstrap();
    }
  },
  60_000,
);

test('nor when the account had closed, reopened and closed it again, and bought again, within what is lost', async () => {
  const [account, model] = [await ledger.account('100'), await ledger.model('1')];
  await post('/models/subscribe', account, { model_id: model.id, tokens: 1_000_000 });
  const end = endOfFile();
  for (const tokens of [2_000_000, 3]) {
    await post('/models/unsubscribe', account, { model_id: model.id });
    await post('/models/subscribe', account, { model_id: model.id, tokens });
  }
  await loseTail(end);
  await eventually(async () =>
    expect(await ledger.live(account, model)).toMatchObject({
      balance: 3,
      status: 'active',
      generation: 3,
      creditSeq: 3,
    }),
  );
  expect(await ledger.violations()).toEqual({});
}, 60_000);

test('replaying withdrawals to a Redis that lost nothing has no effect', async () => {
  const [account, model] = [await ledger.account('100'), await ledger.model('1')];
  await post('/models/subscribe', account, { model_id: model.id, tokens: 1_000_000 });
  await post('/models/unsubscribe', account, { model_id: model.id });
  await post('/models/subscribe', account, { model_id: model.id, tokens: 700 });
  const { id } = await ledger.subscription(account, model);
  const writer = plane.app.get(LiveRecordWriter, { strict: false });
  for (const kind of ['withdrawal', 'withdrawal'] as const) await writer.write({ kind, id });
  expect(await ledger.live(account, model)).toMatchObject({ balance: 700 });
}, 60_000);

test('unsubscribing right after Redis lost its tail refunds all of it in the first answer, whatever was lost: 100 of 100', async () => {
  const [account, model] = [await ledger.account('100'), await ledger.model('1')];
  const body = { model_id: model.id };
  const redis = plane.app.get(REDIS);
  const record = keysOf(plane, account.id, model.id);
  const records: Record<string, string>[] = [];
  const act = async (path: '/models/subscribe' | '/models/renew', tokens: number) => {
    records.push(await redis.hgetall(record));
    expect((await post(path, account, { ...body, tokens })).status).toBeLessThan(300);
  };
  for (let turn = 0; turn < 100; turn += 1) {
    await act('/models/subscribe', 5_000);
    for (const tokens of [1_000_000, 300]) await act('/models/renew', tokens);
    // Redis has the state from before one of the last acts of this generation, or of the one before.
    const lost = records.at(-1 - (turn % 5)) ?? {};
    await redis.multi().del(record).hset(record, lost).exec();
    expect(await post('/models/unsubscribe', account, body)).toMatchObject({
      body: { status: 'closed', refunded_tokens: 1_005_300, refunded_amount: '1.0053' },
    });
    expect(await ledger.live(account, model)).toMatchObject({ balance: 0 });
  }
  expect(await ledger.subscription(account, model)).toMatchObject({ overdraft: '0' });
  expect(await ledger.wallet(account)).toBe(100_000_000n);
  expect(await ledger.violations()).toEqual({});
}, 120_000);

test('what Redis loses between the record and its withdrawal is not refunded too little: the subscription stays closing until all is there', async () => {
  const [account, model] = [await ledger.account('100'), await ledger.model('1')];
  const [redis, record] = [plane.app.get(REDIS), keysOf(plane, account.id, model.id)];
  await post('/models/subscribe', account, { model_id: model.id, tokens: 5_000 });
  const lost = await redis.hgetall(record);
  await post('/models/renew', account, { model_id: model.id, tokens: 1_000_000 });
  const metering = plane.app.get(MeteringStore, { strict: false });
  const withdraw = jest.spyOn(metering, 'withdraw').mockImplementationOnce(async (request) => {
    await redis.multi().del(record).hset(record, lost).exec();
    return metering.withdraw(request);
  });
  try {
    const { body } = await post('/models/unsubscribe', account, { model_id: model.id });
    expect(body).toMatchObject({ status: 'closing' });
    await eventually(async () => expect(await ledger.wallet(account)).toBe(100_000_000n));
    expect(await ledger.live(account, model)).toMatchObject({ balance: 0 });
    expect(await ledger.violations()).toEqual({});
  } finally {
    withdraw.mockRestore();
  }
}, 60_000);

test('what was written before Redis went away is repeated as far back as Redis may lose, beyond the time that it was away', async () => {
  const [account, model, older] = [
    await ledger.account('100'),
    await ledger.model('1'),
    await ledger.model('1'),
  ];
  for (const { id } of [model, older])
    await post('/models/subscribe', account, { model_id: id, tokens: 1_000 });
  const [recent, past] = [
    await ledger.subscription(account, model),
    await ledger.subscription(account, older),
  ];
  const clock = new (class extends Host {
    atMs = 0;
    override monotonicMs = (): number => this.atMs;
  })();
  const connection = openRedis(plane.services.redisUrl, {
    ...{ role: 'subscriber', name: 'spec', onError: () => undefined },
  });
  const pump = plane.app.get(LiveStatePump, { strict: false });
  const delivered = jest.spyOn(pump, 'deliver');
  const tail = new LostTail(
    connection,
    plane.app.get(Transactions, { strict: false }),
    pump,
    clock,
  );
  const has = (id: number): boolean =>
    delivered.mock.calls.some(([rows]) =>
      rows.some((row) => row.kind === 'subscription' && row.id === id),
    );
  try {
    await tail.onApplicationBootstrap();
    await eventually(async () => expect([has(recent.id), has(past.id)]).toEqual([true, true]));
    await Promise.all(delivered.mock.results.map(({ value }) => value));
    delivered.mockClear();
    for (const [table, column] of TIMES)
      await ledger.query(`UPDATE ${table} SET ${column} = ${column} - interval '615 seconds'`);
    for (const [table, column, id] of [
      ['token_credits', 'created_at', 'subscription_id'],
      ['subscriptions', 'revised_at', 'id'],
    ])
      await ledger.query(
        `UPDATE ${table} SET ${column} = ${column} - interval '60 seconds' WHERE ${id} = $1`,
        [past.id],
      );
    connection.once('close', () => void setImmediate(() => (clock.atMs += 600_000)));
    connection.disconnect(true);
    await eventually(async () => expect(has(recent.id)).toBe(true));
    expect(has(past.id)).toBe(false);
  } finally {
    tail.onApplicationShutdown();
    delivered.mockRestore();
    closeRedis(connection);
  }
}, 60_000);
