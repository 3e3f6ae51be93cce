import { describe, expect, test } from '@jest/globals';
import { USAGE_QUEUE, type RelayedEvent, type UsageJob } from '@tollgate/contracts';
import { BULL_PREFIX, openRedis, type RedisConnection } from '@tollgate/keyspace';
import { Queue, QueueEvents } from 'bullmq';
import { uuidv7 } from '../../../platform/http/visitor.ts';
import { reapEvent, usageEvent, type EventParts } from '../../../testing/ledger-under-test.ts';
import { REDIS } from '../../../platform/redis/redis.module.ts';
import {
  plane,
  ledger,
  worker,
  subscribed,
  stateOf,
  deadLetters,
} from '../../../testing/usage-ingest-under-test.ts';

const rollupsOf = ({ account }: EventParts) =>
  ledger.query(
    `SELECT upstream_id, sum(requests)::int AS requests, sum(errors)::int AS errors, sum(charge)::int AS charge, coalesce(sum(input_tokens), 0)::int AS input FROM usage_rollups
     WHERE user_id = $1 GROUP BY upstream_id HAVING sum(requests) <> 0 OR sum(charge) <> 0 ORDER BY upstream_id`,
    [account.id],
  );

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
    const acknowledged = lists.map((text) => JSON.parse(text).events);
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
        'SELECT requests::int, (SELECT coalesce(sum(bucket), 0)::int FROM unnest(duration_histogram) bucket) AS timed FROM usage_rollups WHERE user_id = $1',
        [parts.account.id],
      ),
    ).toEqual([{ requests: 1, timed: 0 }]);
  });
});
