import { beforeAll, expect, test } from '@jest/globals';
import { shardOf, type RedisConnection } from '@tollgate/keyspace';
import { eventually } from '@tollgate/harness';
import { REDIS } from '../../platform/redis/redis.module.ts';
import {
  ledgerOf,
  usageEvent,
  type EventParts,
  type TestAccount,
} from '../../testing/ledger-under-test.ts';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { keysOf } from '../../testing/drift-under-test.ts';
import { UsageWorker } from '../usage/ingest/usage-worker.ts';

/** Is the time from the first use on; it takes a few seconds on a quiet machine. */
const WITHIN_MS = 15_000;
const BOUGHT = 10_000;

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
let redis: RedisConnection;
let account: TestAccount;
let parts: EventParts;
let apiKey: { id: number; hash: string };

beforeAll(async () => {
  plane = await sharedControlPlane();
  ledger = ledgerOf(plane);
  redis = plane.app.get(REDIS);
  await ledger.initialiseShards();
  account = await ledger.account('1000');
  const model = await ledger.model('1');
  await plane.call('POST', '/models/subscribe', {
    token: account.token,
    body: { model_id: model.id, tokens: BOUGHT },
  });
  const subscriptionId = (await ledger.subscription(account, model)).id;
  const created = await plane.call('POST', '/keys', {
    token: account.token,
    body: { name: 'used' },
  });
  const [row] = await ledger.query('SELECT id, key_hash AS hash FROM api_keys WHERE id = $1', [
    created.body.id,
  ]);
  apiKey = row;
  parts = { account, model, subscriptionId, keyId: apiKey.id };
}, 60_000);

const tag = (): string => `{${shardOf(account.id, Number(plane.environment['SHARDS']))}}`;
const keyRecord = (hash = apiKey.hash): string => `${tag()}:key:${hash}`;
const alerts = (rule: string, subject: string): Promise<{ severity: string }[]> =>
  ledger.query('SELECT severity FROM alerts WHERE rule = $1 AND subject = $2', [rule, subject]);

/** Makes a request as Redis and the ledger see it: debited there, booked here. */
async function use(tokens: number, keyHash: string = apiKey.hash): Promise<void> {
  await redis.hincrby(keysOf(plane, account.id, parts.model.id), 'bal', -tokens);
  await plane.app
    .get(UsageWorker, { strict: false })
    .process([usageEvent(tokens, { ...parts, final: { key_hash: keyHash } })]);
}
const liveBalance = async (): Promise<number | undefined> =>
  (await ledger.live(account, parts.model))?.balance;

test('S54: tokens minted by HINCRBY are gone seconds after their first use, with a critical alert', async () => {
  await redis.hincrby(keysOf(plane, account.id, parts.model.id), 'bal', 50_000_000);
  await use(10);
  await eventually(async () => expect(await liveBalance()).toBe(BOUGHT - 10), WITHIN_MS);
  await eventually(async () =>
    expect(await alerts('drift', `subscription:${parts.subscriptionId}`)).toEqual([
      { severity: 'critical' },
    ]),
  );
  await use(10);
  await eventually(async () => expect(await liveBalance()).toBe(BOUGHT - 20), WITHIN_MS);
  expect(await ledger.violations()).toEqual({});
}, 60_000);

test('S54: functions whose text was replaced under their name are put back, with a critical alert', async () => {
  const listed = await redis.call('FUNCTION', 'LIST', 'WITHCODE');
  const text = [listed].flat(9).find((each) => String(each).startsWith('#!lua name=tollgate_'));
  const forged = String(text).replace(
    'local balance, held, running = learn_spendable(KEYS[1], KEYS[4], tonumber(sub[2]))',
    'local balance, held, running = 1e9',
  );
  expect(forged).not.toBe(text);
  await redis.call('FUNCTION', 'LOAD', 'REPLACE', forged);
  await eventually(async () => {
    expect(await alerts('redis_tampered', 'records')).toEqual([{ severity: 'critical' }]);
    expect(JSON.stringify(await redis.call('FUNCTION', 'LIST', 'WITHCODE'))).not.toContain('1e9');
  }, WITHIN_MS);
}, 60_000);

test('S54: what requests hold is recounted after the next use, with a critical alert', async () => {
  const record = keysOf(plane, account.id, parts.model.id);
  await redis.hset(record, { held: '-50000000', conc: '-3' });
  await use(10);
  await eventually(
    async () => expect(await redis.hmget(record, 'held', 'conc')).toEqual(['0', '0']),
    WITHIN_MS,
  );
  expect(await alerts('drift', `subscription:${parts.subscriptionId}`)).toEqual([
    { severity: 'critical' },
  ]);
}, 60_000);

test('S54: a raised credit number is set back after the next purchase, which it would swallow', async () => {
  const record = keysOf(plane, account.id, parts.model.id);
  await redis.hset(record, 'cseq', '900');
  await plane.call('POST', '/models/renew', {
    token: account.token,
    body: { model_id: parts.model.id, tokens: 500 },
  });
  await eventually(
    async () => expect(Number(await redis.hget(record, 'cseq'))).toBeLessThan(100),
    WITHIN_MS,
  );
}, 60_000);

test.each([
  { what: 'enabled again', change: { st: 'enabled' } },
  {
    what: 'given a revision that no later write could replace',
    change: { st: 'enabled', rev: '900000000000' },
  },
  { what: 'freed of its limits', change: { rpm: '0', models: '*', ips: '' } },
  { what: 'moved to another account', change: { acct: '999' } },
])(
  'S54: a key record that was $what in Redis is rewritten once it is used',
  async ({ change }) => {
    await plane.call('PUT', `/keys/${apiKey.id}`, {
      token: account.token,
      body: { rpm: 7, allowed_models: parts.model.name },
    });
    await plane.call('POST', `/keys/${apiKey.id}/disable`, { token: account.token });
    const before = await redis.hgetall(keyRecord());
    await redis.hset(keyRecord(), change);
    await use(1);
    await eventually(
      async () => expect(await redis.hgetall(keyRecord())).toEqual(before),
      WITHIN_MS,
    );
    await eventually(async () =>
      expect(await alerts('redis_tampered', 'records')).toEqual([{ severity: 'critical' }]),
    );
  },
  60_000,
);

test('S54: a key that only Redis knows is removed once it is used', async () => {
  const planted = 'f'.repeat(64);
  await redis.hset(keyRecord(planted), await redis.hgetall(keyRecord()));
  await use(1, planted);
  await eventually(async () => expect(await redis.exists(keyRecord(planted))).toBe(0), WITHIN_MS);
  expect(await redis.exists(keyRecord())).toBe(1);
}, 60_000);

test('S54: a frozen account that was thawed in Redis is frozen again once it is used', async () => {
  await ledger.asAdmin('POST', `/users/${account.id}/freeze`);
  const record = `${tag()}:acct:${account.id}`;
  await eventually(async () => expect(await redis.hget(record, 'st')).toBe('frozen'));
  await redis.hset(record, 'st', 'active');
  await use(1);
  await eventually(async () => expect(await redis.hget(record, 'st')).toBe('frozen'), WITHIN_MS);
}, 60_000);
