import { expect, test } from '@jest/globals';
import {
  BEGAN_AT_MS,
  finalOf,
  readOf,
  REQUESTED,
  WITHDRAWAL,
} from '../../../testing/finals-under-test.ts';
import { inPeriods, rollupDeltas, withoutRequesters, type RollupDelta } from './rollup-delta.ts';

const MINUTE = Date.UTC(2026, 10, 28, 10, 20);
const HOUR_MS = 3_600_000;
const REAP = { kind: 'reap', ...REQUESTED };

const filled = (counts: readonly number[]): number[][] =>
  counts.flatMap((count, bucket) => (count === 0 ? [] : [[bucket, count]]));
/** Returns the row's names and what is not 0 in it. */
const shown = ({ sums, duration, firstToken, ...row }: RollupDelta) => ({
  ...row,
  ...Object.fromEntries(Object.entries(sums).filter(([, value]) => value !== 0)),
  duration: filled(duration),
  firstToken: filled(firstToken),
});
const rows = (...events: Parameters<typeof rollupDeltas>[0]) => rollupDeltas(events).map(shown);
const row = { periodMs: MINUTE, userId: 11, keyId: 22, modelId: 44 };
const NOTHING = { duration: [], firstToken: [] };

test('a final counts for the minute in which its request began, with its tokens and times', () => {
  expect(rows(readOf(finalOf({ output_tokens: 9 })))).toEqual([
    {
      ...row,
      upstreamId: 66,
      requests: 1,
      charge: 70,
      input_tokens: 70,
      output_tokens: 9,
      duration: [[7, 1]],
      firstToken: [[6, 1]],
    },
  ]);
  expect(rows(readOf(finalOf({ upstream_id: null, first_token_ms: null })))).toEqual([
    {
      ...row,
      upstreamId: 0,
      requests: 1,
      charge: 70,
      input_tokens: 70,
      duration: [[7, 1]],
      firstToken: [],
    },
  ]);
});

test('a duration that could not be read is in no bucket', () => {
  const [delta] = rows(readOf(finalOf(), { unreadable: ['duration_ms'] }));
  expect(delta).toMatchObject({ duration: [], firstToken: [[6, 1]] });
});

test('a status of 400 and an outcome that fails are errors, each by itself', () => {
  const errors = (changes: Parameters<typeof finalOf>[0]) =>
    rollupDeltas([readOf(finalOf(changes))])[0]?.sums.errors;
  expect(errors({ status: 399 })).toBe(0);
  expect(errors({ status: 400 })).toBe(1);
  expect(errors({ outcome: 'upstream_failed' })).toBe(1);
});

test('a reap is an error without an upstream, and its correction takes back exactly that', () => {
  expect(rows(readOf(REAP, { delta: 50 }))).toEqual([
    { ...row, upstreamId: 0, requests: 1, errors: 1, charge: 50, ...NOTHING },
  ]);
  const corrected = rows(readOf(finalOf(), { seq: 1, delta: 20 }), readOf(REAP, { delta: 50 }));
  expect(corrected).toEqual([
    { ...row, upstreamId: 0, ...NOTHING },
    {
      ...row,
      upstreamId: 66,
      requests: 1,
      charge: 70,
      input_tokens: 70,
      duration: [[7, 1]],
      firstToken: [[6, 1]],
    },
  ]);
});

test('a withdrawal is no request', () => {
  expect(rows(readOf(WITHDRAWAL))).toEqual([]);
});

test('rows stand in the order of minute, account, key, model and upstream', () => {
  const of = (changes: Parameters<typeof finalOf>[0], beganAtMs = BEGAN_AT_MS) =>
    readOf(finalOf(changes), { beganAtMs });
  const order = [
    of({ account_id: 99 }, BEGAN_AT_MS - 60_000),
    of({ account_id: 10, key_id: 99 }),
    of({ key_id: 21, model_id: 99 }),
    of({ model_id: 43, upstream_id: 99 }),
    of({ upstream_id: 65 }),
    of({}),
  ];
  const names = (list: readonly RollupDelta[]) =>
    list.map(({ periodMs, userId, keyId, modelId, upstreamId }) =>
      [(periodMs - MINUTE) / 60_000, userId, keyId, modelId, upstreamId].join(' '),
    );
  const expected = [
    '-1 99 22 44 66',
    '0 10 99 44 66',
    '0 11 21 99 66',
    '0 11 22 43 99',
    '0 11 22 44 65',
    '0 11 22 44 66',
  ];
  expect(names(rollupDeltas(order.toReversed()))).toEqual(expected);
  expect(names(rollupDeltas(order))).toEqual(expected);
});

test('two events of one row are one row', () => {
  expect(rows(readOf(finalOf()), readOf(finalOf()))).toEqual([
    {
      ...row,
      upstreamId: 66,
      requests: 2,
      charge: 140,
      input_tokens: 140,
      duration: [[7, 2]],
      firstToken: [[6, 2]],
    },
  ]);
});

test('longer periods and rows of all accounts add up what they hold', () => {
  const deltas = rollupDeltas([
    readOf(finalOf()),
    readOf(finalOf({ account_id: 12, duration_ms: 3 }), { beganAtMs: BEGAN_AT_MS + 60_000 }),
    readOf(finalOf(), { beganAtMs: BEGAN_AT_MS + 60_000 }),
    readOf(finalOf(), { beganAtMs: BEGAN_AT_MS + HOUR_MS }),
  ]);
  const hour = MINUTE - 20 * 60_000;
  expect(inPeriods(deltas, HOUR_MS).map(shown)).toMatchObject([
    {
      periodMs: hour,
      userId: 11,
      keyId: 22,
      modelId: 44,
      upstreamId: 66,
      requests: 2,
      charge: 140,
      duration: [[7, 2]],
      firstToken: [[6, 2]],
    },
    { periodMs: hour, userId: 12, requests: 1, duration: [[0, 1]] },
    { periodMs: hour + HOUR_MS, userId: 11, requests: 1 },
  ]);
  expect(withoutRequesters(deltas).map(shown)).toMatchObject([
    { periodMs: MINUTE, userId: 0, keyId: 0, modelId: 44, upstreamId: 66, requests: 1 },
    {
      periodMs: MINUTE + 60_000,
      userId: 0,
      keyId: 0,
      requests: 2,
      duration: [
        [0, 1],
        [7, 1],
      ],
    },
    { periodMs: MINUTE + HOUR_MS, userId: 0, requests: 1 },
  ]);
});
