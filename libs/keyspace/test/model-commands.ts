import fc from 'fast-check';

/** Picks a request: one never seen, one that is running, or any seen before (`nth`, modulo how many there are). */
export interface Pick {
  of: 'new' | 'open' | 'known';
  nth: number;
}

/** Holds the acts that may happen in one shard: two accounts, three keys, three subscriptions, any number of requests. Numbers are indexes into the runner's fixtures. */
export type Command =
  | { type: 'advance'; ms: number }
  | {
      type: 'putKey';
      key: number;
      status: 'enabled' | 'disabled' | 'deleted';
      limits: number;
      models: number;
      allowlist: number;
      expiry: number;
      drain: boolean;
      step: number;
    }
  | {
      type: 'putAccount';
      account: number;
      status: 'active' | 'frozen' | 'deleted';
      drain: boolean;
      step: number;
    }
  | {
      type: 'putSubscription';
      sub: number;
      status: 'active' | 'closing' | 'closed';
      generationStep: number;
      drain: boolean;
      step: number;
      opening: number;
      autoRecharge: { threshold: number; amount: number } | null;
    }
  | { type: 'credit'; sub: number; how: 'next' | 'again' | 'gap'; delta: number }
  | {
      type: 'admit';
      rid: Pick;
      key: 'own' | 'limited' | 'foreign';
      want: number;
      min: number;
      concurrencyMax: number;
      address: number;
      modelName: number;
      leaseMs: number;
      isWhole: boolean;
    }
  | { type: 'access'; key: number; address: number }
  | { type: 'checkpoint'; rid: Pick; used: number; extend: number; leaseMs: number }
  | {
      type: 'restore';
      rid: Pick;
      want: number;
      used: number;
      generation: number;
      isOfAnother: boolean;
      leaseMs: number;
    }
  | { type: 'settle'; rid: Pick; factor: number; reEmit: boolean }
  | { type: 'reap'; rid: Pick }
  | { type: 'withdraw'; sub: number; how: 'new' | 'again' | 'other id' | 'behind'; drain: boolean }
  | {
      type: 'repeatWithdrawal';
      sub: number;
      how: 'new' | 'known' | 'other id';
      tokens: number;
    }
  | { type: 'repeatRelease'; rid: Pick; tokens: number; ageMs: number; isOfAnother: boolean }
  | { type: 'repeatReap'; rid: Pick }
  /** The shard loses its epoch, and gets another one. */
  | { type: 'fence' }
  | { type: 'relay'; entriesMax: number; bytesMax: number; expiredHoldsMax: number };

export const KEYS = 3;
export const SUBSCRIPTIONS = 3;

const sub = fc.nat(SUBSCRIPTIONS - 1);
const pick = (...of: Pick['of'][]): fc.Arbitrary<Pick> =>
  fc.record({ of: fc.constantFrom(...of), nth: fc.nat(1_000) });
const running = pick('open', 'open', 'open', 'open', 'open', 'known', 'known', 'new');
const known = pick('open', 'known', 'known', 'new');
const drain = fc.boolean();
/** The step is mostly to the next revision, sometimes to the same, sometimes to an old one. */
const step = fc.constantFrom(1, 1, 1, 0, -1);
const leaseMs = fc.constantFrom(60_000, 60_000, 1_000);

const commands: { weight: number; arbitrary: fc.Arbitrary<Command> }[] = [
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('advance'),
      ms: fc.oneof(
        fc.integer({ min: 0, max: 3_000 }),
        fc.integer({ min: 0, max: 90_000 }),
        fc.integer({ min: 0, max: 4_000_000 }),
        fc.integer({ min: -50_000, max: -1 }),
        fc.integer({ min: -90_000_000, max: -60_000 }),
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...{
        type: fc.constant('putKey'),
        key: fc.nat(KEYS - 1),
        status: fc.constantFrom(
          'enabled',
          'enabled',
          'enabled',
          'enabled',
          'enabled',
          'disabled',
          'deleted',
        ),
        limits: fc.nat(4),
      },
      ...{
        models: fc.nat(6),
        allowlist: fc.nat(4),
        expiry: fc.constantFrom(0, 0, 1, 2, 3),
        drain,
        step,
      },
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('putAccount'),
      account: fc.nat(1),
      status: fc.constantFrom(
        'active',
        'active',
        'active',
        'active',
        'active',
        'frozen',
        'deleted',
      ),
      drain,
      step,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      ...{
        type: fc.constant('putSubscription'),
        sub,
        status: fc.constantFrom('active', 'active', 'active', 'closing', 'closed'),
      },
      ...{
        generationStep: fc.constantFrom(0, 0, 1, 1, -1),
        drain,
        step,
        opening: fc.constantFrom(0, 700),
        autoRecharge: fc.oneof(
          fc.constant(null),
          fc.record({ threshold: fc.nat(900), amount: fc.integer({ min: 1, max: 900 }) }),
        ),
      },
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('credit'),
      sub,
      how: fc.constantFrom('next', 'next', 'next', 'again', 'gap'),
      delta: fc.oneof(fc.integer({ min: 1, max: 4_000 }), fc.integer({ min: -300, max: 0 })),
    }),
  },
  {
    weight: 16,
    arbitrary: fc.record({
      ...{
        type: fc.constant('admit'),
        rid: pick('new', 'new', 'new', 'new', 'new', 'new', 'new', 'known'),
        key: fc.constantFrom(
          'own',
          'own',
          'own',
          'own',
          'limited',
          'limited',
          'limited',
          'limited',
          'limited',
          'foreign',
        ),
      },
      ...{ want: fc.integer({ min: 0, max: 900 }), min: fc.integer({ min: 0, max: 150 }) },
      ...{
        concurrencyMax: fc.constantFrom(0, 0, 0, 2),
        address: fc.nat(4),
        modelName: fc.constantFrom(0, 0, 1),
        leaseMs,
        isWhole: fc.boolean(),
      },
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('access'),
      key: fc.nat(KEYS - 1),
      address: fc.nat(4),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('checkpoint'),
      rid: running,
      used: fc.nat(900),
      extend: fc.constantFrom(0, 50, 400, 5_000),
      leaseMs,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      ...{
        type: fc.constant('restore'),
        rid: pick('new', 'new', 'open', 'known'),
        want: fc.nat(900),
        used: fc.nat(300),
        generation: fc.integer({ min: 1, max: 3 }),
      },
      ...{ isOfAnother: fc.constantFrom(false, false, false, false, true), leaseMs },
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      type: fc.constant('settle'),
      rid: running,
      factor: fc.constantFrom(0, 0.3, 0.9, 1, 1.2, 3),
      reEmit: fc.boolean(),
    }),
  },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('reap'), rid: running }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('withdraw'),
      sub,
      how: fc.constantFrom('new', 'new', 'again', 'other id', 'behind'),
      drain,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('repeatWithdrawal'),
      sub,
      how: fc.constantFrom('new', 'known', 'other id'),
      tokens: fc.nat(300),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('repeatRelease'),
      rid: pick('open', 'known', 'known', 'new'),
      tokens: fc.nat(300),
      ageMs: fc.constantFrom(0, 0, -900_000, 839_000, 840_000, 900_000),
      isOfAnother: fc.constantFrom(false, false, false, true),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('repeatReap'), rid: known }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('fence') }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('relay'),
      entriesMax: fc.integer({ min: 1, max: 6 }),
      bytesMax: fc.constantFrom(1, 150, 10_000),
      expiredHoldsMax: fc.integer({ min: 1, max: 3 }),
    }),
  },
];

export interface Sequence {
  /** Is false while nothing exists yet, neither keys nor accounts nor subscriptions. */
  isOpened: boolean;
  commands: Command[];
}

export const sequences: fc.Arbitrary<Sequence> = fc.record({
  isOpened: fc.constantFrom(true, true, true, true, true, true, true, false),
  commands: fc.array(fc.oneof(...commands), { minLength: 20, maxLength: 80, size: 'max' }),
});
