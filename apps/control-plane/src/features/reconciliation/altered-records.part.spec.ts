import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { MeteringStore, shardOf, type RedisConnection } from '@tollgate/keyspace';
import { eventually } from '@tollgate/harness';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { ledgerOf, usageEvent, type EventParts } from '../../testing/ledger-under-test.ts';
import type { ControlPlane } from '../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../testing/shared-plane-under-test.ts';
import { keysOf } from '../../testing/drift-under-test.ts';
import { LiveRecordAudit } from '../live-state/live-record-audit.ts';
import { LiveRecordWriter } from '../live-state/live-record-writer.ts';
import { LiveRows } from '../live-state/live-rows.sql.ts';
import { UsageWorker } from '../usage/ingest/usage-worker.ts';

const WITHIN_MS = 15_000;
const BOUGHT = 10_000;

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
let redis: RedisConnection;
let mine: Customer;

interface Customer extends EventParts {
  keyId: number;
  keyHash: string;
  /** Holds the records of the subscription, of the key and of the account. */
  records: { subscription: string; key: string; account: string };
}

async function customer(): Promise<Customer> {
  const [account, model] = [await ledger.account('1000'), await ledger.model('1')];
  const body = { model_id: model.id, tokens: BOUGHT };
  await plane.call('POST', '/models/subscribe', { token: account.token, body });
  const subscriptionId = (await ledger.subscription(account, model)).id;
  const { token } = account;
  const created = await plane.call('POST', '/keys', { token, body: { name: 'used' } });
  const [row] = await ledger.query('SELECT key_hash FROM api_keys WHERE id = $1', [
    created.body.id,
  ]);
  const tag = `{${shardOf(account.id, Number(plane.environment['SHARDS']))}}`;
  // No relay runs here: what other specs left would be waited for.
  await redis.del(`${tag}:outbox`);
  const records = {
    subscription: keysOf(plane, account.id, model.id),
    key: `${tag}:key:${row.key_hash}`,
    account: `${tag}:acct:${account.id}`,
  };
  return {
    account,
    model,
    subscriptionId,
    keyId: created.body.id,
    keyHash: row.key_hash,
    records,
  };
}

/** Makes a request as Redis and the ledger see it: debited there, booked here. */
async function use(
  tokens: number,
  { keyHash, ...parts }: Customer,
  named = parts.subscriptionId,
): Promise<void> {
  await redis.hincrby(keysOf(plane, parts.account.id, parts.model.id), 'bal', -tokens);
  const event = usageEvent(tokens, {
    ...parts,
    subscriptionId: named,
    final: { key_hash: keyHash },
  });
  await plane.app.get(UsageWorker, { strict: false }).process([event]);
}
/** Repeats the use: usage that arrives while two readings are compared makes them differ, and the next use is compared again. */
const seenAfterUse = (who: Customer, assertion: () => Promise<void>): Promise<void> =>
  eventually(async () => {
    await eventually(assertion, 5_000).catch(async (error: unknown) => {
      await use(1, who).catch(() => undefined);
      throw error;
    });
  }, 25_000);
const alerts = (rule: string, subject: string): Promise<{ severity: string }[]> =>
  ledger.query('SELECT severity FROM alerts WHERE rule = $1 AND subject = $2', [rule, subject]);
const booked = async ({ account, model }: EventParts): Promise<number> =>
  Number((await ledger.subscription(account, model)).balance);

beforeEach(async () => {
  plane = await sharedControlPlane();
  ledger = ledgerOf(plane);
  redis = plane.app.get(REDIS);
  await ledger.initialiseShards();
  mine = await customer();
}, 60_000);

describe('S54: a rewrite of a subscription record brings no refunded tokens back', () => {
  const openAnew = () =>
    plane.app.get(LiveRecordWriter, { strict: false }).openAnew(mine.subscriptionId);
  const post = (way: 'subscribe' | 'unsubscribe', body: object) => {
    const sent = { token: mine.account.token, body: { model_id: mine.model.id, ...body } };
    return plane.call('POST', `/models/${way}`, sent);
  };
  const live = () => redis.hmget(mine.records.subscription, 'st', 'gen', 'bal', 'cseq', 'held');
  afterEach(() => void jest.restoreAllMocks());

  test.each([
    { meanwhile: 'was closed', bought: [], is: ['closed', '1', '0', '1', '0'] },
    { meanwhile: 'was closed and reopened', bought: [500], is: ['active', '2', '500', '2', '0'] },
  ])('when its subscription $meanwhile after its row was read', async ({ bought, is }) => {
    const rows = plane.app.get(LiveRows, { strict: false });
    const read = rows.subscriptions.bind(rows);
    jest.spyOn(rows, 'subscriptions').mockImplementationOnce(async (which) => {
      const found = await read(which);
      expect((await post('unsubscribe', {})).body).toMatchObject({ refunded_tokens: BOUGHT });
      for (const tokens of bought) await post('subscribe', { tokens });
      return found;
    });
    await openAnew();
    expect(await live()).toEqual(is);
    expect(await booked(mine)).toBe(Number(is[2]));
  });

  test('when Redis has withdrawn them and the ledger has not booked it', async () => {
    const metering = plane.app.get(MeteringStore, { strict: false });
    const withdraw = metering.withdraw.bind(metering);
    jest.spyOn(metering, 'withdraw').mockImplementationOnce(async (call) => {
      const reply = await withdraw(call);
      await openAnew();
      return reply;
    });
    expect((await post('unsubscribe', {})).body).toMatchObject({
      status: 'closed',
      refunded_tokens: BOUGHT,
    });
    // The record's status follows after the answer; the tokens must be gone before it.
    expect((await live()).slice(2)).toEqual(['0', '1', '0']);
    expect(await booked(mine)).toBe(0);
  });
});

describe('S54: a subscription record that is not its row', () => {
  test('and names the subscription of another leaves its own account charged and the other not', async () => {
    const other = await customer();
    await redis.hset(mine.records.subscription, 'id', String(other.subscriptionId));
    await use(10, mine, other.subscriptionId);
    expect([await booked(mine), await booked(other)]).toEqual([BOUGHT - 10, BOUGHT]);
    await eventually(
      async () =>
        expect(await redis.hget(mine.records.subscription, 'id')).toBe(String(mine.subscriptionId)),
      WITHIN_MS,
    );
    await eventually(async () =>
      expect(await redis.hget(mine.records.subscription, 'bal')).toBe(String(BOUGHT - 10)),
    );
    expect(await alerts('drift', `subscription:${mine.subscriptionId}`)).toEqual([
      { severity: 'critical' },
    ]);
    expect(await alerts('drift', `subscription:${other.subscriptionId}`)).toEqual([]);
  }, 60_000);

  test.each([
    { what: 'a revision that no later write could replace', change: { rev: '9007199254740990' } },
    { what: 'a generation that no later write could replace', change: { gen: '99' } },
  ])(
    'and has $what is rewritten when its account buys',
    async ({ change }) => {
      await redis.hset(mine.records.subscription, change);
      const body = { model_id: mine.model.id, tokens: 500 };
      await plane.call('POST', '/models/unsubscribe', {
        token: mine.account.token,
        body: { model_id: mine.model.id },
      });
      await plane.call('POST', '/models/subscribe', { token: mine.account.token, body });
      await eventually(
        async () =>
          expect(await redis.hmget(mine.records.subscription, 'st', 'gen', 'bal')).toEqual([
            'active',
            '2',
            '500',
          ]),
        WITHIN_MS,
      );
      expect(await alerts('drift', `subscription:${mine.subscriptionId}`)).toEqual([
        { severity: 'critical' },
      ]);
    },
    60_000,
  );

  test.each(['rev', 'gen', 'st'])(
    'and whose %s cannot be read is rewritten after its next use',
    async (field) => {
      const before = await redis.hgetall(mine.records.subscription);
      await redis.hset(mine.records.subscription, field, 'no number');
      await use(10, mine);
      await eventually(
        async () =>
          expect(await redis.hgetall(mine.records.subscription)).toEqual({
            ...before,
            bal: String(BOUGHT - 10),
          }),
        WITHIN_MS,
      );
    },
    60_000,
  );
});

test.each([
  { what: 'a key record without a readable revision', record: 'key', write: 'field' },
  { what: 'an account record without a readable revision', record: 'account', write: 'field' },
  { what: 'a key record of another type', record: 'key', write: 'type' },
  { what: 'an account record of another type', record: 'account', write: 'type' },
  { what: 'a subscription record of another type', record: 'subscription', write: 'type' },
] as const)(
  'S54: $what hides no minted tokens of another, and is rewritten',
  async ({ record, write }) => {
    const minter = await customer();
    const altered = mine.records[record];
    const before = await redis.hgetall(altered);
    await use(1, mine);
    if (write === 'field') await redis.hset(altered, 'rev', 'no number');
    else await redis.multi().del(altered).rpush(altered, 'another type').exec();
    await redis.hincrby(minter.records.subscription, 'bal', 50_000_000);
    await use(10, minter);
    await seenAfterUse(minter, async () =>
      expect(Number(await redis.hget(minter.records.subscription, 'bal'))).toBeLessThan(BOUGHT),
    );
    await seenAfterUse(mine, async () => {
      expect(await redis.type(altered)).toBe('hash');
      expect(await redis.hget(altered, 'rev')).toBe(before['rev']);
    });
  },
  60_000,
);

test.each([
  {
    record: 'key',
    block: () => plane.call('POST', `/keys/${mine.keyId}/disable`, { token: mine.account.token }),
    blocked: 'disabled',
  },
  {
    record: 'account',
    block: () =>
      plane.call('POST', `/users/${mine.account.id}/freeze`, { token: plane.adminToken }),
    blocked: 'frozen',
  },
] as const)(
  'S54: an older $record record that is put back is rewritten after its use, with an alert',
  async ({ record, block, blocked }) => {
    const enabled = await redis.hgetall(mine.records[record]);
    await block();
    expect(await redis.hget(mine.records[record], 'st')).toBe(blocked);
    await redis.hset(mine.records[record], enabled);
    await use(10, mine);
    await seenAfterUse(mine, async () =>
      expect(await redis.hget(mine.records[record], 'st')).toBe(blocked),
    );
    const open = await ledger.query(
      "SELECT count(*)::int AS count FROM alerts WHERE rule = 'redis_tampered' AND subject = 'records' AND resolved_at IS NULL",
    );
    expect(open).toEqual([{ count: 1 }]);
  },
  60_000,
);

test('S54: a record whose write is on its way is not taken for an older one', async () => {
  const audit = plane.app.get(LiveRecordAudit, { strict: false });
  const uses = [{ accountId: mine.account.id, keyId: mine.keyId, keyHash: mine.keyHash }];
  await ledger.query('UPDATE api_keys SET revision = revision + 1 WHERE id = $1', [mine.keyId]);
  const promised =
    "INSERT INTO live_state_outbox (kind, target_id, created_at) VALUES ('key', $1, now() + interval '1 hour')";
  await ledger.query(promised, [mine.keyId]);
  expect(await audit.check(uses)).toEqual([]);
  await ledger.query('DELETE FROM live_state_outbox WHERE target_id = $1', [mine.keyId]);
  expect(await audit.check(uses, { isRepeating: true })).toEqual([]);
  expect(await audit.check(uses)).toEqual([
    `the live record of key ${mine.keyId} is older than its row`,
  ]);
  expect(await audit.check(uses)).toEqual([]);
});
