import { beforeEach, expect, test } from '@jest/globals';
import { weightFields } from '@tollgate/contracts';
import type { DataSource } from 'typeorm';
import { finalOf, readOf, REQUESTED, WITHDRAWAL } from '../../../testing/finals-under-test.ts';
import { KnownFacts } from './known-facts.ts';
import type { ReadEvent } from './read-event.ts';

const PRICE = {
  ...{ id: 55, model_id: 44, ...weightFields('1000000', null), multipliers: {}, tiers: [] },
};
const SUBSCRIPTIONS = [
  { id: 33, user_id: 11, model_id: 44 },
  { id: 34, user_id: 12, model_id: 44 },
  { id: 35, user_id: 11, model_id: 45 },
];
const BEYOND = 2 ** 31;

let facts: KnownFacts;
let asked: [table: string, ...parameters: unknown[]][];

beforeEach(() => {
  asked = [];
  const query = (sql: string, parameters: number[][]): Promise<object[]> => {
    const [ids = [], models = []] = parameters;
    if (sql.includes('price_versions')) {
      asked.push(['prices', ...ids]);
      return Promise.resolve([PRICE].filter(({ id }) => ids.includes(id)));
    }
    if (sql.includes('USING (user_id, model_id)')) {
      asked.push(['own', ids, models]);
      const isOf = (user: number, model: number): boolean =>
        ids.some((id, index) => id === user && models[index] === model);
      return Promise.resolve(SUBSCRIPTIONS.filter((row) => isOf(row.user_id, row.model_id)));
    }
    asked.push(['subscriptions', ...ids]);
    return Promise.resolve(SUBSCRIPTIONS.filter(({ id }) => ids.includes(id)));
  };
  facts = new KnownFacts({ query } as unknown as DataSource);
});

async function judged(read: ReadEvent) {
  const known = await facts.load([read]);
  const corrected = facts.corrected(read, known);
  return { corrected, fault: facts.faultOf(corrected, known) };
}
const final = (changes: Parameters<typeof finalOf>[0] = {}) => readOf(finalOf(changes));

test('an event of its own subscription stays as it is', async () => {
  const read = final();
  const { corrected, fault } = await judged(read);
  expect(corrected).toBe(read);
  expect(fault).toBeNull();
});

test('usage that names the subscription of another account or model is of the one that its account has', async () => {
  for (const subscription_id of [34, 35, 99]) {
    const read = final({ subscription_id });
    const { corrected, fault } = await judged(read);
    expect(corrected).toEqual({ ...read, event: final().event });
    expect(fault).toBeNull();
  }
});

test('a withdrawal names the subscription that it is of', async () => {
  const read = readOf({ ...WITHDRAWAL, subscription_id: 34 });
  const { corrected, fault } = await judged(read);
  expect(corrected).toBe(read);
  expect(fault).toBe('the subscription belongs to another account or model');
});

const OF_OTHER = 'the subscription belongs to another account or model';
const NO_PRICE = 'the price version does not belong to the model';
test.each<[string, string | null, () => ReadEvent]>([
  ['an account without the model', OF_OTHER, () => final({ account_id: 13 })],
  [
    'a subscription that does not exist',
    'the subscription does not exist',
    () => final({ account_id: 13, subscription_id: 99 }),
  ],
  [
    'an id that PostgreSQL cannot hold',
    'the subscription does not exist',
    () => final({ account_id: BEYOND, subscription_id: BEYOND }),
  ],
  ['a price that does not exist', NO_PRICE, () => final({ price_version_id: 56 })],
  ['a price of another model', NO_PRICE, () => final({ model_id: 45, subscription_id: 35 })],
  [
    'another charge than its price makes',
    'the charge is 70 by its price version, not 71',
    () => final({ charge: 71 }),
  ],
  [
    'a reap, whose charge is an estimate',
    null,
    () => readOf({ kind: 'reap', ...REQUESTED }, { delta: 1_234 }),
  ],
  [
    'a reap of another price',
    NO_PRICE,
    () => readOf({ kind: 'reap', ...REQUESTED, price_version_id: 56 }),
  ],
  ['a withdrawal', null, () => readOf(WITHDRAWAL)],
])('an event is judged by what PostgreSQL knows of %s: %s', async (_, reason, read) => {
  expect((await judged(read())).fault).toBe(reason);
});

test('a charge beyond all numbers is refused, and stops nothing', async () => {
  const { fault } = await judged(
    final({
      input_tokens: Number.MAX_SAFE_INTEGER,
      charge: 1,
      output_tokens: Number.MAX_SAFE_INTEGER,
    }),
  );
  expect(fault).toMatch(/./);
});

test('subscriptions and prices are read once, and only what a batch names', async () => {
  await facts.load([
    final(),
    final(),
    readOf({ ...WITHDRAWAL, subscription_id: 34, account_id: 12 }),
  ]);
  expect(asked).toEqual([
    ['subscriptions', 33, 34],
    ['prices', 55],
  ]);
  asked = [];
  const known = await facts.load([final(), final({ price_version_id: 56 })]);
  expect(asked).toEqual([['prices', 56]]);
  expect(known.subscriptions.get(33)).toEqual({ userId: 11, modelId: 44 });
  expect([...known.prices.keys()]).toEqual([55]);
});

test('for strangers alone, the subscription of their account and model is asked for', async () => {
  const most = BEYOND - 1;
  await facts.load([
    final(),
    final({ subscription_id: 34 }),
    final({ account_id: BEYOND }),
    final({ account_id: 7, model_id: BEYOND }),
    final({ account_id: most, subscription_id: most }),
  ]);
  expect(asked).toEqual([
    ['subscriptions', 33, 34, most],
    ['own', [11, most], [44, 44]],
    ['prices', 55],
  ]);
});
