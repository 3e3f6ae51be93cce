import { beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { FailOpen, type LoneRequest, type SeenAdmission } from './fail-open.ts';

const SEEN: SeenAdmission = {
  accountId: 1,
  keyHash: 'k',
  modelId: 3,
  addressHex: 'a1',
  keyId: 5,
  subscriptionId: 9,
  generation: 2,
  epoch: 'e',
  availableTokens: 1_000_000,
  expiresAtMs: 0,
};
const ALLOWANCE = 1_000;
let now: number;
let failOpen: FailOpen;
let rids: number;

beforeEach(() => {
  now = 1_000_000;
  rids = 0;
  failOpen = new FailOpen({
    allowanceTokens: ALLOWANCE,
    log: pino({ level: 'silent' }),
    now: () => now,
    unixNow: () => now,
  });
});

function ask(change: Partial<LoneRequest> = {}): { rid: string; isServed: boolean } {
  rids += 1;
  const rid = `r${rids}`;
  return {
    rid,
    isServed:
      failOpen.admit({
        rid,
        keyHash: 'k',
        modelId: 3,
        addressHex: 'a1',
        tokens: 400,
        ...change,
      }) !== null,
  };
}
const isServed = (change: Partial<LoneRequest> = {}): boolean => ask(change).isServed;

describe('without Redis a request is served', () => {
  test('as the same key was a moment ago: in its subscription, generation and epoch, with its whole hold', () => {
    failOpen.remember(SEEN);
    expect(
      failOpen.admit({ rid: 'r', keyHash: 'k', modelId: 3, addressHex: 'a1', tokens: 400 }),
    ).toEqual({
      ...{ keyId: 5, subscriptionId: 9, generation: 2, epoch: 'e', claims: '' },
      grantedTokens: 400,
    });
    expect(failOpen.state).toEqual({ admissions: 1, tokens: 400 });
  });

  test.each<[string, Partial<LoneRequest>]>([
    ['another key', { keyHash: 'other' }],
    ['another model', { modelId: 4 }],
    ['another address', { addressHex: 'a2' }],
  ])('not of %s', (_what, change) => {
    failOpen.remember(SEEN);
    expect(isServed(change)).toBe(false);
  });

  test('within five minutes of its last admission, and not after', () => {
    failOpen.remember(SEEN);
    now += 300_000;
    expect(isServed()).toBe(true);
    now += 1;
    expect(isServed()).toBe(false);
    failOpen.remember(SEEN);
    expect(isServed()).toBe(true);
  });

  test('until its key expires', () => {
    failOpen.remember({ ...SEEN, expiresAtMs: now + 1 });
    expect(isServed()).toBe(true);
    now += 1;
    expect(isServed()).toBe(false);
  });

  test('only when more than twenty times its hold was left, what was used since included', () => {
    failOpen.remember({ ...SEEN, availableTokens: 20 * 400 + 1 });
    expect(isServed()).toBe(true);
    expect(isServed()).toBe(false);
    failOpen.remember({ ...SEEN, keyHash: 'poor', subscriptionId: 10, availableTokens: 20 * 400 });
    expect(isServed({ keyHash: 'poor' })).toBe(false);
  });

  test('not once Redis has refused its key', () => {
    failOpen.remember(SEEN);
    failOpen.remember({ ...SEEN, modelId: 4 });
    failOpen.forget('k');
    expect([isServed(), isServed({ modelId: 4 })]).toEqual([false, false]);
  });
});

test('a key is known from the address and for the time in which it may be served', () => {
  const knows = (keyHash: string, addressHex = 'a1'): boolean =>
    failOpen.knows({ keyHash, addressHex });
  failOpen.remember({ ...SEEN, expiresAtMs: now + 200_000 });
  failOpen.remember({ ...SEEN, modelId: 4, addressHex: 'a2' });
  expect([knows('k'), knows('k', 'a2'), knows('k', 'a3'), knows('other')]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  now += 200_000;
  expect([knows('k'), knows('k', 'a2')]).toEqual([false, true]);
  now += 100_001;
  expect(knows('k', 'a2')).toBe(false);
});

test('there is something to serve while any key was admitted within five minutes', () => {
  expect(failOpen.knowsAny()).toBe(false);
  failOpen.remember(SEEN);
  now += 200_000;
  failOpen.remember({ ...SEEN, keyHash: 'second', modelId: 4 });
  failOpen.remember({ ...SEEN, keyHash: 'second' });
  now += 100_001;
  expect(failOpen.knowsAny()).toBe(true);
  expect([isServed(), isServed({ keyHash: 'second' })]).toEqual([false, true]);
  now += 200_000;
  expect(failOpen.knowsAny()).toBe(false);
  failOpen.remember(SEEN);
  failOpen.forget('k');
  expect(failOpen.knowsAny()).toBe(false);
});

describe('the allowance of a subscription', () => {
  test('covers the holds of all its keys together, and not a token more', () => {
    failOpen.remember(SEEN);
    failOpen.remember({ ...SEEN, keyHash: 'second' });
    failOpen.remember({ ...SEEN, keyHash: 'stranger', subscriptionId: 10 });
    expect([
      isServed(),
      isServed({ keyHash: 'second' }),
      isServed({ tokens: 201 }),
      isServed({ tokens: 200 }),
      isServed({ tokens: 1 }),
    ]).toEqual([true, true, false, true, false]);
    expect(isServed({ keyHash: 'stranger' })).toBe(true);
  });

  test('counts what a request cost once it has ended, until Redis or PostgreSQL has it', () => {
    failOpen.remember(SEEN);
    const first = ask({ tokens: 900 });
    expect(isServed()).toBe(false);
    failOpen.ended(first.rid, 700);
    expect([isServed({ tokens: 301 }), isServed({ tokens: 300 })]).toEqual([false, true]);
    failOpen.taken(first.rid);
    expect([isServed({ tokens: 701 }), isServed({ tokens: 700 })]).toEqual([false, true]);
    expect(failOpen.state).toEqual({ admissions: 3, tokens: 1_000 });
    for (const rid of ['r4', 'r6']) failOpen.taken(rid);
    expect(failOpen.state).toEqual({ admissions: 3, tokens: 0 });
  });

  test('of nothing serves nothing', () => {
    failOpen = new FailOpen({
      allowanceTokens: 0,
      log: pino({ level: 'silent' }),
      now: () => now,
      unixNow: () => now,
    });
    failOpen.remember(SEEN);
    expect([
      failOpen.isOn,
      isServed(),
      isServed({ tokens: 0 }),
      failOpen.knowsAny(),
      failOpen.knows({ keyHash: 'k', addressHex: 'a1' }),
    ]).toEqual([false, false, false, false, false]);
  });
});

test('what is remembered is bounded: the keys and models that were longest unused go first', () => {
  for (let key = 0; key < 10_000; key += 1) failOpen.remember({ ...SEEN, keyHash: `k${key}` });
  failOpen.remember({ ...SEEN, keyHash: 'k0' });
  for (let modelId = 1; modelId <= 17; modelId += 1)
    failOpen.remember({ ...SEEN, keyHash: 'one more', modelId });
  expect([isServed({ keyHash: 'k0', tokens: 1 }), isServed({ keyHash: 'k1', tokens: 1 })]).toEqual([
    true,
    false,
  ]);
  expect(
    [1, 2, 17].map((modelId) => isServed({ keyHash: 'one more', modelId, tokens: 1 })),
  ).toEqual([false, true, true]);
});
