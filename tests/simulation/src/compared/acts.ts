import fc from 'fast-check';

/** Describes one event of a batch. `request` says which of a few requests, or for a withdrawal which of the subscription's. */
export interface EventSpec {
  kind: 'usage' | 'reap' | 'correction' | 'withdraw' | 'release';
  request: number;
  tokens: number;
  epoch: 'current' | 'old' | 'none';
  fault: 'none' | 'stranger' | 'price' | 'text';
}

export type Act =
  | { type: 'ingest'; events: EventSpec[]; fromJournal: boolean; isConfirmed: boolean }
  | { type: 'buy'; sub: number; tokens: number }
  | { type: 'unsubscribe'; sub: number; drain: boolean }
  | { type: 'repair'; sub: number; tokens: number }
  | { type: 'write'; sub: number; kind: 'subscription' | 'withdrawal'; isBehind: boolean }
  | { type: 'changeEpoch'; shard: number }
  | { type: 'dropDays'; daysAgo: number }
  | { type: 'redisReturned' }
  | { type: 'sweep' }
  | { type: 'recharge'; sub: number; free: number; isBehind: boolean; isRearmed: boolean }
  | { type: 'look'; shard: number; marks: { outbox: number; creditSeq: number; balance: number }[] }
  | { type: 'wait'; ms: number };

const sub = fc.nat({ max: 2 });
const shard = fc.nat({ max: 1 });
const tokens = fc.oneof(
  fc.nat({ max: 2_000 }),
  fc.constantFrom(0, 1, 59_999, 60_000, 60_001, 200_000),
);
const event: fc.Arbitrary<EventSpec> = fc.record({
  kind: fc.constantFrom('usage', 'usage', 'usage', 'reap', 'correction', 'withdraw', 'release'),
  request: fc.nat({ max: 8 }),
  tokens,
  epoch: fc.constantFrom('current', 'current', 'old', 'none'),
  fault: fc.oneof(
    { weight: 12, arbitrary: fc.constant('none' as const) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('stranger' as const, 'price' as const, 'text' as const),
    },
  ),
});
const mark = fc.record({
  outbox: fc.nat({ max: 40 }),
  creditSeq: fc.nat({ max: 6 }),
  balance: fc.nat({ max: 100_000 }),
});

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      type: fc.constant('ingest' as const),
      events: fc.array(event, { minLength: 1, maxLength: 5 }),
      fromJournal: fc.constantFrom(false, false, true),
      isConfirmed: fc.constantFrom(false, false, false, true),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('buy' as const), sub, tokens }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant('unsubscribe' as const), sub, drain: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('repair' as const),
      sub,
      tokens: fc.integer({ min: -500, max: 500 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('write' as const),
      sub,
      kind: fc.constantFrom('subscription' as const, 'withdrawal' as const),
      isBehind: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('changeEpoch' as const), shard }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('dropDays' as const),
      daysAgo: fc.nat({ max: 2 }),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ type: 'redisReturned' as const }) },
  { weight: 3, arbitrary: fc.constant({ type: 'sweep' as const }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('recharge' as const),
      sub,
      free: fc.constantFrom(-5_000, 0, 300, 301, 19_999, 20_000, 20_001, 40_000, 80_000),
      isBehind: fc.constantFrom(false, false, false, true),
      isRearmed: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('look' as const),
      shard,
      marks: fc.array(mark, { minLength: 3, maxLength: 3 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 900, 1_900, 2_100, 61_000, 800_000),
    }),
  },
);

export const sequences = fc.array(act, { minLength: 5, maxLength: 40 });
