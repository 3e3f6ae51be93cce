import { beforeAll, describe, expect, test } from '@jest/globals';
import { USAGE_QUEUE, type RelayedEvent, type UsageJob } from '@tollgate/contracts';
import { BULL_PREFIX, openRedis, type RedisConnection } from '@tollgate/keyspace';
import { Queue, QueueEvents } from 'bullmq';
import { uuidv7 } from '../../../platform/http/visitor.ts';
import { BalanceWatch } from '../../subscriptions/balance-watch.ts';
import {
  ledgerOf,
  reapEvent,
  usageEvent,
  withdrawEvent,
  type EventParts,
  subscribedAccount,
} from '../../../testing/ledger-under-test.ts';
import type { ControlPlane } from '../../../testing/control-plane-under-test.ts';
import { sharedControlPlane } from '../../../testing/shared-plane-under-test.ts';
import { keysOf } from '../../../testing/drift-under-test.ts';
import { REDIS } from '../../../platform/redis/redis.module.ts';
import { UsageWorker } from './usage-worker.ts';

let plane: ControlPlane;
let ledger: ReturnType<typeof ledgerOf>;
let worker: UsageWorker;
beforeAll(async () => {
  plane = await sharedControlPlane();
  ledger = ledgerOf(plane);
  worker = plane.app.get(UsageWorker);
  await ledger.initialiseShards();
}, 60_000);

const subscribed = (tokens: number): Promise<EventParts> => subscribedAccount(plane, tokens);

const stateOf = async ({ subscriptionId }: EventParts) => {
  const [row] = await ledger.query('SELECT balance, overdraft FROM subscriptions WHERE id = $1', [
    subscriptionId,
  ]);
  return { balance: Number(row.balance), overdraft: Number(row.overdraft) };
};
const rollupsOf = ({ account }: EventParts) =>
  ledger.query(
    `SELECT upstream_id, sum(requests)::int AS requests, sum(errors)::int AS errors, sum(charge)::int AS charge, sum(input_tokens)::int AS input FROM usage_rollups
     WHERE user_id = $1 GROUP BY upstream_id HAVING sum(requests) <> 0 OR sum(charge) <> 0 ORDER BY upstream_id`,
    [account.id],
  );
const openOverdrafts = async ({ subscriptionId }: EventParts): Promise<number> =>
  (
    await ledger.query(
      "SELECT 1 FROM alerts WHERE rule = 'overdraft' AND subject = $1 AND resolved_at IS NULL",
      [`subscription:${subscriptionId}`],
    )
  ).length;
const overdraftAlerts = ({ subscriptionId }: EventParts) =>
  ledger.query("SELECT detail FROM alerts WHERE rule = 'overdraft' AND subject = $1", [
    `subscription:${subscriptionId}`,
  ]);
const deadLetters = (rid: string) =>
  ledger.query('SELECT reason FROM usage_dead_letters WHERE rid = $1', [rid]);

describe('a batch', () => {
  test('is debited once, however often and in how many workers it arrives', async () => {
    const parts = await subscribed(10_000);
    const events = Array.from({ length: 50 }, (_, index) => usageEvent(index, parts));
    await Promise.all(
      Array.from({ length: 6 }, (_, turn) =>
        worker.process(turn % 2 === 0 ? events : events.toReversed()),
      ),
    );
    expect(await stateOf(parts)).toEqual({ balance: 10_000 - 1_225, overdraft: 0 });
    expect(await rollupsOf(parts)).toEqual([
      { upstream_id: 1, requests: 50, errors: 0, charge: 1_225, input: 1_225 },
    ]);
    expect(
      await ledger.query(
        "SELECT count(*)::int AS entries FROM token_entries WHERE subscription_id = $1 AND kind = 'usage'",
        [parts.subscriptionId],
      ),
    ).toEqual([{ entries: 1 }]);
  });

  test('takes the oldest tokens first', async () => {
    const parts = await subscribed(100);
    await plane.call('POST', '/models/renew', {
      token: parts.account.token,
      body: { model_id: parts.model.id, tokens: 100 },
    });
    await worker.process([usageEvent(130, parts)]);
    expect(
      await ledger.query(
        'SELECT credit_seq::int AS seq, remaining::int AS remaining FROM token_lots WHERE subscription_id = $1 ORDER BY id',
        [parts.subscriptionId],
      ),
    ).toEqual([
      { seq: 1, remaining: 0 },
      { seq: 2, remaining: 70 },
    ]);
  });

  test('acknowledges to each node worker what is booked, also duplicates and dead letters', async () => {
    const parts = await subscribed(100);
    const [good, bad] = [
      usageEvent(1, { ...parts, final: { node: 'node-ack:3' } }),
      usageEvent(1, { ...parts, final: { node: 'node-ack:3', charge: 2 }, delta: 2 }),
    ];
    await worker.process([good, bad]);
    await worker.process([good]);
    const lists: string[] = await plane.app.get(REDIS).lrange('{ack:node-ack:3}', 0, -1);
    const acknowledged = lists.map((text) => JSON.parse(text));
    expect(acknowledged).toMatchObject([
      [
        { rid: good.rid, seq: 0 },
        { rid: bad.rid, seq: 0 },
      ],
      [{ rid: good.rid, seq: 0 }],
    ]);
    expect(acknowledged.map(({ length }) => length)).toEqual([2, 1]);
  });
});

test('jobs of the queue are booked and acknowledged, and a job without events does not stay', async () => {
  const parts = await subscribed(100);
  const [connection, listening] = ['spec', 'spec-events'].map((name) =>
    openRedis(plane.services.redisUrl, { role: 'queue_worker', name, onError: () => undefined }),
  ) as [RedisConnection, RedisConnection];
  const queue = new Queue<UsageJob | string>(USAGE_QUEUE, { connection, prefix: BULL_PREFIX });
  const listener = new QueueEvents(USAGE_QUEUE, { connection: listening, prefix: BULL_PREFIX });
  await listener.waitUntilReady();
  try {
    const jobs = [
      await queue.add('usage', {
        events: [usageEvent(40, parts)],
        refusedForFunds: [
          { accountId: parts.account.id, modelId: parts.model.id, neededTokens: 1 },
        ],
      }),
      await queue.add('usage', 'nonsense'),
    ];
    await Promise.all(jobs.map((job) => job.waitUntilFinished(listener, 10_000)));
    expect(await stateOf(parts)).toEqual({ balance: 60, overdraft: 0 });
  } finally {
    await listener.close();
    await queue.close();
    connection.disconnect();
    listening.disconnect();
  }
});

describe('usage beyond the balance', () => {
  test('debits what is there, books the rest as overdraft with an alert, and the next purchase repays it first', async () => {
    const parts = await subscribed(100);
    await worker.process([usageEvent(130, parts)]);
    expect(await stateOf(parts)).toEqual({ balance: 0, overdraft: 30 });
    expect(await overdraftAlerts(parts)).toEqual([{ detail: { tokens: 30 } }]);
    await plane.call('POST', '/models/renew', {
      token: parts.account.token,
      body: { model_id: parts.model.id, tokens: 50 },
    });
    expect(await stateOf(parts)).toEqual({ balance: 20, overdraft: 0 });
    await plane.app.get(BalanceWatch, { strict: false }).look();
    expect(await openOverdrafts(parts)).toBe(0);
  });

  test('keeps its alert while it lasts, and closes it once the correction it waited for is booked', async () => {
    const parts = await subscribed(100);
    const rid = uuidv7(Date.now());
    const watch = plane.app.get(BalanceWatch, { strict: false });
    // The withdrawal takes what the reaper charged too much; the correction that says so comes later.
    const withdrawalId = await ledger.beginWithdrawal(parts.subscriptionId);
    await worker.process([
      withdrawEvent(30, { ...parts, withdrawalId }),
      reapEvent(70, { ...parts, rid }),
    ]);
    await worker.process([withdrawEvent(45, { ...parts, withdrawalId, rid, seq: 2 })]);
    await watch.look();
    expect(await openOverdrafts(parts)).toBe(1);
    await worker.process([usageEvent(25, { ...parts, rid, seq: 1, delta: -45 })]);
    await watch.look();
    expect(await openOverdrafts(parts)).toBe(0);
  });
});

describe('a withdrawal of more than the ledger has', () => {
  test.each([
    ['used before', { used: 30, surplus: 20, refunded: 90, overdraft: 20 }],
    ['never bought', { used: 0, surplus: 40, refunded: 100, overdraft: 40 }],
  ])(
    'refunds what was paid for, books tokens that were %s as overdraft and raises an alert',
    async (_what, { used, surplus, refunded, overdraft }) => {
      const parts = await subscribed(100);
      await worker.process([usageEvent(used, parts)]);
      await plane.app
        .get(REDIS)
        .hincrby(keysOf(plane, parts.account.id, parts.model.id), 'bal', surplus - used);
      const wallet = await ledger.wallet(parts.account);
      await plane.call('POST', '/models/unsubscribe', {
        token: parts.account.token,
        body: { model_id: parts.model.id },
      });
      expect(await stateOf(parts)).toEqual({ balance: 0, overdraft });
      expect((await ledger.wallet(parts.account)) - wallet).toBe(BigInt(refunded));
      expect(await overdraftAlerts(parts)).toEqual([{ detail: { tokens: overdraft } }]);
    },
  );

  test.each([
    ['one batch', [[0, 1, 2, 3]]],
    [
      'the withdrawals and their correction last',
      [
        [0, 1],
        [2, 3],
      ],
    ],
    ['the reap last', [[0, 2, 3], [1]]],
  ])(
    'is no overdraft where the correction it rests on comes no later: %s',
    async (_order, batches) => {
      const parts = await subscribed(100);
      const rid = uuidv7(Date.now());
      const withdrawalId = await ledger.beginWithdrawal(parts.subscriptionId);
      const events = [
        withdrawEvent(30, { ...parts, withdrawalId }),
        reapEvent(70, { ...parts, rid }),
        withdrawEvent(45, { ...parts, withdrawalId, rid, seq: 2 }),
        usageEvent(25, { ...parts, rid, seq: 1, delta: -45 }),
      ];
      for (const batch of batches)
        await worker.process(batch.map((index) => events[index] as RelayedEvent));
      expect(await stateOf(parts)).toEqual({ balance: 0, overdraft: 0 });
      expect(await overdraftAlerts(parts)).toEqual([]);
    },
  );
});

describe('a reaped request', () => {
  test.each([
    ['before', [0, 1]],
    ['after', [1, 0]],
  ] as const)(
    'that is corrected %s its reap ends as one request with its own charge',
    async (_when, order) => {
      const parts = await subscribed(1_000);
      const rid = uuidv7(Date.now());
      const events: RelayedEvent[] = [
        reapEvent(80, { ...parts, rid }),
        usageEvent(50, { ...parts, rid, seq: 1, delta: -30 }),
      ];
      for (const index of order) await worker.process([events[index] as RelayedEvent]);
      expect(await stateOf(parts)).toEqual({ balance: 950, overdraft: 0 });
      expect(await rollupsOf(parts)).toEqual([
        { upstream_id: 1, requests: 1, errors: 0, charge: 50, input: 50 },
      ]);
    },
  );

  test('counts as an error of no upstream until its correction comes', async () => {
    const parts = await subscribed(1_000);
    await worker.process([reapEvent(80, parts)]);
    expect(await rollupsOf(parts)).toEqual([
      { upstream_id: 0, requests: 1, errors: 1, charge: 80, input: 0 },
    ]);
  });
});

describe('a charge is booked whatever its telemetry says', () => {
  const cases: [string, Record<string, unknown>, Record<string, unknown>][] = [
    ['a negative duration', { duration_ms: -3_600_000 }, { duration_ms: null, status: 200 }],
    ['a negative time to the first token', { first_token_ms: -1 }, { first_token_ms: null }],
    ['a fractional duration', { duration_ms: 0.5 }, { duration_ms: null }],
    ['a duration beyond an integer', { duration_ms: 3_000_000_000 }, { duration_ms: null }],
    [
      'attempts of negative length',
      { attempts: [{ upstream_id: 1, duration_ms: -1 }] },
      { attempts: null, duration_ms: 130 },
    ],
    [
      'an attempt with a NUL in its reason',
      { attempts: [{ upstream_id: 1, error: 'a\u0000b', duration_ms: 1 }] },
      { attempts: null },
    ],
    ['an upstream beyond an integer', { upstream_id: 3_000_000_000 }, { upstream_id: null }],
    ['a start before time began', { started_at: -1 }, { duration_ms: 130 }],
    ['an outcome of a later release', { outcome: 'paused' }, { outcome: null }],
    ['a protocol of a later release', { protocol: 'images' }, { protocol: null }],
    ['a NUL in the name of its node', { node: 'a\u0000b' }, { node: null }],
    ['a field of a later release', { surprise: 1 }, { duration_ms: 130 }],
    ['fields named like columns', { day: null, delta: 5, shard: 7 }, { shard: 's00' }],
  ];

  test.each(cases)('with %s', async (_what, final, row) => {
    const parts = await subscribed(100);
    const event = usageEvent(7, { ...parts, final });
    await worker.process([event]);
    expect(await stateOf(parts)).toEqual({ balance: 93, overdraft: 0 });
    expect(await deadLetters(event.rid)).toEqual([]);
    expect(
      await ledger.query('SELECT * FROM usage_events WHERE rid = $1', [event.rid]),
    ).toMatchObject([{ charge: '7', ...row }]);
  });

  test('without a duration it counts in no percentile', async () => {
    const parts = await subscribed(100);
    await worker.process([usageEvent(7, { ...parts, final: { duration_ms: -1 } })]);
    expect(
      await ledger.query(
        'SELECT requests::int, (SELECT sum(bucket)::int FROM unnest(duration_histogram) bucket) AS timed FROM usage_rollups WHERE user_id = $1',
        [parts.account.id],
      ),
    ).toEqual([{ requests: 1, timed: 0 }]);
  });
});

describe('a poison event', () => {
  const cases: [string, (parts: EventParts) => RelayedEvent][] = [
    ['payload that is no JSON', (parts) => ({ ...usageEvent(1, parts), payload: '{"kind":' })],
    [
      '10 MB of payload',
      (parts) => ({ ...usageEvent(1, parts), payload: `"${'x'.repeat(10_000_000)}"` }),
    ],
    [
      'a NUL in the payload',
      (parts) => ({ ...usageEvent(1, parts), payload: '{"kind":"us\u0000age"}' }),
    ],
    ['a negative count', (parts) => usageEvent(1, { ...parts, final: { output_tokens: -5 } })],
    ['a fractional delta', (parts) => ({ ...usageEvent(1, parts), delta: '1.5' })],
    ['a negative zero delta', (parts) => ({ ...usageEvent(1, parts), delta: '-0x' })],
    ['an absurd delta', (parts) => ({ ...usageEvent(1, parts), delta: '99999999999999999999' })],
    [
      'a charge that is not what its price version makes of it',
      (parts) => usageEvent(1, { ...parts, delta: 2, final: { charge: 2 } }),
    ],
    [
      'a premium that its price version has no multiplier for',
      (parts) => usageEvent(1, { ...parts, final: { premiums: ['speed=fast'] } }),
    ],
    [
      'a price version of another model',
      (parts) => usageEvent(1, { ...parts, final: { price_version_id: 999_999 } }),
    ],
    [
      'a subscription that does not exist',
      (parts) => usageEvent(1, { ...parts, subscriptionId: 999_999 }),
    ],
    [
      "another account's subscription",
      (parts) => usageEvent(1, { ...parts, final: { account_id: 1 } }),
    ],
    [
      'a rid that is no UUIDv7',
      (parts) => usageEvent(1, { ...parts, rid: '7c9e6679-7425-40de-944b-e07fc1f90ae7' }),
    ],
    [
      'the number of a later format',
      (parts) => {
        const event = usageEvent(1, parts);
        return { ...event, payload: JSON.stringify({ ...JSON.parse(event.payload), format: 2 }) };
      },
    ],
    ['an unknown seq', (parts) => usageEvent(1, { ...parts, seq: 7 })],
  ];

  test.each(cases)(
    'with %s becomes a dead letter once, and its batch commits',
    async (_what, make) => {
      const parts = await subscribed(100);
      const poison = make(parts);
      const neighbour = usageEvent(7, parts);
      await worker.process([poison, neighbour]);
      await worker.process([poison, neighbour]);
      expect(await stateOf(parts)).toEqual({ balance: 93, overdraft: 0 });
      expect(await deadLetters(poison.rid)).toHaveLength(1);
    },
  );

  test('that only PostgreSQL can judge is found by booking its batch one by one', async () => {
    const parts = await subscribed(100);
    const poison = usageEvent(1, { ...parts, keyId: 3_000_000_000 });
    await worker.process([usageEvent(7, parts), poison, usageEvent(8, parts)]);
    expect(await stateOf(parts)).toEqual({ balance: 85, overdraft: 0 });
    expect(await deadLetters(poison.rid)).toMatchObject([
      { reason: expect.stringContaining('PostgreSQL refused it') },
    ]);
  });
});
