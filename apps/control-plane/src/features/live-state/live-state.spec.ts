import { afterEach, describe, expect, test } from '@jest/globals';
import { parseApiKey } from '@tollgate/contracts';
import { FleetStore, LiveRecords, openRedis, primariesOf } from '@tollgate/keyspace';
import { eventually } from '@tollgate/harness';
import { ledger, plane, shareLedgerPlane } from '../../testing/ledger-plane-under-test.ts';
import { keysOf } from '../../testing/drift-under-test.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { LiveStatePump } from './live-state-pump.ts';

shareLedgerPlane();
afterEach(async () => {
  if (!plane.services.redis.isRunning) await plane.services.redis.start();
});

const post = <Path extends string>(path: Path, token: string, body?: unknown) =>
  plane.call('POST', path, { token, ...(body === undefined ? {} : { body }) });

describe("an administrator's call", () => {
  test('answers after its live record is written, and leaves nothing behind', async () => {
    const account = await ledger.account('0');
    const { body: key } = await post('/keys', account.token, {
      name: 'a',
      rpm: 3,
      allowed_models: 'gpt-*, o1',
      ip_allowlist: '10.0.0.0/8',
    });
    const hash = parseApiKey(key.key)?.hash ?? '';
    const live = () => plane.app.get(LiveRecords).getKey(account.id, hash);
    expect(await live()).toMatchObject({
      id: key.id,
      status: 'enabled',
      rpm: 3,
      rph: 0,
      rpd: 0,
      allowedModels: 'gpt-*,o1',
      expiresAtMs: 0,
    });
    await post(`/keys/${key.id}/disable?drain=true`, account.token);
    expect(await live()).toMatchObject({ status: 'disabled', drain: true });
    await post(`/keys/${key.id}/enable`, account.token);
    expect(await live()).toMatchObject({ status: 'enabled', drain: false });
    await plane.call('PUT', `/keys/${key.id}`, {
      token: account.token,
      body: { rpd: 9, expires_at: '2099-01-01T00:00:00Z' },
    });
    expect(await live()).toMatchObject({ rpd: 9, rpm: 3, expiresAtMs: Date.UTC(2099, 0, 1) });
    await ledger.asAdmin('POST', `/users/${account.id}/freeze`);
    expect(await plane.app.get(LiveRecords).getAccount(account.id)).toMatchObject({
      status: 'frozen',
    });
    await plane.call('DELETE', `/keys/${key.id}`, { token: plane.adminToken });
    expect(await live()).toMatchObject({ status: 'deleted' });
    // The count is of these two: the first administrator's own record may still be on its way.
    expect(
      await ledger.query(
        "SELECT * FROM live_state_outbox WHERE (kind = 'account' AND target_id = $1) OR (kind = 'key' AND target_id = $2)",
        [account.id, key.id],
      ),
    ).toEqual([]);
  });
});

test.each([
  ['a limit was raised', 'PUT', '', { rpm: 60 }],
  ['a key was disabled', 'POST', '/disable', undefined],
  ['a key was deleted', 'DELETE', '', undefined],
])('every node learns that %s before the call answers', async (_, method, path, body) => {
  const account = await ledger.account('0');
  const { body: key } = await post('/keys', account.token, { name: 'a', rpm: 3 });
  const hash = parseApiKey(key.key)?.hash ?? '';
  const changed: string[] = [];
  const connection = openRedis(plane.services.redisUrl, {
    role: 'subscriber',
    name: 'spec',
    onError: () => undefined,
  });
  try {
    await plane.app.get(FleetStore).subscribe(connection, (message) => {
      if (message.kind === 'key_changed') changed.push(message.key_hash);
    });
    const options = { token: plane.adminToken, ...(body && { body }) };
    expect((await plane.call(method, `/keys/${key.id}${path}`, options)).status).toBeLessThan(300);
    // The call waits for the record, after which the message is sent; only its way to this subscriber is waited for.
    await eventually(async () => expect(changed).toContain(hash));
  } finally {
    connection.disconnect();
  }
});

describe('while Redis is away', () => {
  test('money is committed, the call answers in time, and the tokens arrive when Redis is back', async () => {
    const [account, model] = [await ledger.account('10'), await ledger.model('1')];
    await plane.services.redis.stop();
    const began = performance.now();
    expect(
      await post('/models/subscribe', account.token, { model_id: model.id, tokens: 1_000_000 }),
    ).toMatchObject({ status: 201, body: { tokens: 1_000_000 } });
    expect(performance.now() - began).toBeLessThan(4_000);
    expect(await ledger.wallet(account)).toBe(9_000_000n);
    expect(
      (await plane.call('GET', '/models/my', { token: account.token })).body.data,
    ).toMatchObject([{ tokens: 1_000_000, held: null, as_of: expect.any(String) }]);
    expect(
      await post('/models/renew', account.token, { model_id: model.id, tokens: 5 }),
    ).toMatchObject({ status: 200 });
    await plane.services.redis.start();
    await eventually(async () =>
      expect(await ledger.live(account, model)).toMatchObject({
        balance: 1_000_005,
        creditSeq: 2,
        status: 'active',
      }),
    );
    await eventually(async () =>
      expect(await ledger.query('SELECT * FROM live_state_outbox')).toEqual([]),
    );
  });

  test('a subscription is marked as closing, and is closed and refunded when Redis is back', async () => {
    const [account, model] = [await ledger.account('10'), await ledger.model('1')];
    await post('/models/subscribe', account.token, { model_id: model.id, tokens: 1_000_000 });
    await plane.services.redis.stop();
    expect(await post('/models/unsubscribe', account.token, { model_id: model.id })).toMatchObject({
      status: 200,
      body: { status: 'closing', refunded_tokens: 0, refunded_amount: '0' },
    });
    expect(
      await post('/models/subscribe', account.token, { model_id: model.id, tokens: 1 }),
    ).toMatchObject({ status: 409, body: { code: 'subscription_closing' } });
    await plane.services.redis.start();
    await eventually(async () => expect(await ledger.wallet(account)).toBe(10_000_000n));
    expect(await ledger.subscription(account, model)).toMatchObject({
      status: 'closed',
      balance: '0',
    });
  });

  test('a purchase and its withdrawal made while away leave neither tokens nor money behind', async () => {
    const [account, model] = [await ledger.account('10'), await ledger.model('1')];
    await plane.services.redis.stop();
    await post('/models/subscribe', account.token, { model_id: model.id, tokens: 1_000_000 });
    await post('/models/unsubscribe', account.token, { model_id: model.id });
    await plane.services.redis.start();
    await eventually(async () => expect(await ledger.wallet(account)).toBe(10_000_000n));
    expect(await ledger.live(account, model)).toMatchObject({ balance: 0, held: 0, creditSeq: 1 });
  });
});

test('a process that died after its commit is repaired by the sweep of any other, several at once included', async () => {
  const account = await ledger.account('0');
  await ledger.query("UPDATE users SET status = 'frozen', revision = revision + 1 WHERE id = $1", [
    account.id,
  ]);
  await ledger.query(
    "INSERT INTO live_state_outbox (kind, target_id, created_at) SELECT 'account', $1, now() - interval '1 minute' FROM generate_series(1, 500)",
    [account.id],
  );
  const pump = plane.app.get(LiveStatePump, { strict: false });
  await Promise.all([pump.sweep(), pump.sweep(), pump.sweep()]);
  await eventually(async () =>
    expect(await ledger.query('SELECT * FROM live_state_outbox')).toEqual([]),
  );
  expect(await plane.app.get(LiveRecords).getAccount(account.id)).toMatchObject({
    status: 'frozen',
  });
});

test('closings and reopenings are replayed to a Redis that lost the end of its file, also those without a token', async () => {
  const [account, closed, reopened] = [
    await ledger.account('0'),
    await ledger.model('1'),
    await ledger.model('1'),
  ];
  const redis = plane.app.get(REDIS);
  const lost: [key: string, content: Record<string, string>][] = [];
  for (const model of [closed, reopened])
    await post('/models/subscribe', account.token, { model_id: model.id, tokens: 0 });
  await post('/models/unsubscribe', account.token, { model_id: reopened.id });
  for (const model of [closed, reopened])
    lost.push([
      keysOf(plane, account.id, model.id),
      await redis.hgetall(keysOf(plane, account.id, model.id)),
    ]);
  await post('/models/unsubscribe', account.token, { model_id: closed.id });
  await post('/models/subscribe', account.token, { model_id: reopened.id, tokens: 0 });
  // They were opened long ago: nothing else of these subscriptions is recent.
  await ledger.query(
    "UPDATE subscriptions SET created_at = now() - interval '1 hour', closed_at = closed_at - interval '1 hour' WHERE user_id = $1",
    [account.id],
  );
  await redis.del(...lost.map(([key]) => key));
  for (const [key, content] of lost) await redis.hset(key, content);
  expect(await ledger.live(account, closed)).toMatchObject({ status: 'active' });
  expect(await ledger.live(account, reopened)).toMatchObject({ status: 'closing' });
  redis.disconnect(true);
  await eventually(async () =>
    expect(await ledger.live(account, closed)).toMatchObject({ status: 'closed' }),
  );
  await eventually(async () =>
    expect(await ledger.live(account, reopened)).toMatchObject({ status: 'active', balance: 0 }),
  );
});

test('a Redis that lost everything is filled again: keys, accounts, and balances as the ledger has them', async () => {
  const [account, model] = [await ledger.account('10'), await ledger.model('1')];
  const { body: key } = await post('/keys', account.token, { name: 'a' });
  await post('/models/subscribe', account.token, { model_id: model.id, tokens: 1_000 });
  await post('/models/renew', account.token, { model_id: model.id, tokens: 500 });
  await Promise.all(primariesOf(plane.app.get(REDIS)).map((primary) => primary.flushall()));
  await eventually(async () =>
    expect(await ledger.live(account, model)).toMatchObject({
      balance: 1_500,
      creditSeq: 2,
      status: 'active',
      held: 0,
    }),
  );
  expect(
    await plane.app.get(LiveRecords).getKey(account.id, parseApiKey(key.key)?.hash ?? ''),
  ).toMatchObject({ status: 'enabled' });
  await eventually(async () =>
    expect(
      (await post('/models/renew', account.token, { model_id: model.id, tokens: 1 })).status,
    ).toBe(200),
  );
  await eventually(async () =>
    expect(await ledger.live(account, model)).toMatchObject({ balance: 1_501, creditSeq: 3 }),
  );
});
