import { describe, expect, test } from '@jest/globals';
import { ABANDONED_TOKENS_MAX, PacedAttempt, RoutePaces, type RoutePace } from './route-paces.ts';

const HOUR_MS = 3_600_000;
const ROUTE = { modelId: 1, routeId: 1, isStream: true, size: 100 };
const OTHER_ROUTE = { ...ROUTE, routeId: 2 };
const ANSWER = { ...ROUTE, isStream: false };

function paceAfter(
  waits: readonly number[],
  { of = new RoutePaces(), as = ROUTE }: { of?: RoutePaces; as?: typeof ROUTE } = {},
): RoutePace {
  const pace = of.began(as, 0);
  for (const ms of waits) pace.observe({ contentMs: ms, silenceMs: ms });
  return pace;
}
const times = (count: number, ms: number): number[] => Array.from({ length: count }, () => ms);

describe('the limits of a stream while another route stands by', () => {
  test('are 15 s, until enough streams are known', () => {
    for (const count of [0, 19])
      expect(paceAfter(times(count, 10))).toMatchObject({
        contentMs: 15_000,
        silenceMs: 15_000,
      });
  });

  test('are 1.5 times the p99 of the last 200 streams, between 3 s and 15 or 20 s', () => {
    expect(paceAfter(times(20, 10))).toMatchObject({ contentMs: 3_000, silenceMs: 3_000 });
    expect(paceAfter(times(20, 4_000))).toMatchObject({ contentMs: 6_000, silenceMs: 6_000 });
    expect(paceAfter(times(20, 60_000))).toMatchObject({
      contentMs: 15_000,
      silenceMs: 20_000,
    });
    expect(paceAfter([...times(198, 4_000), 9_000, 9_000]).contentMs).toBe(6_000);
    expect(paceAfter([...times(197, 4_000), 9_000, 9_000, 9_000]).contentMs).toBe(13_500);
    expect(paceAfter([...times(100, 9_000), ...times(200, 4_000)]).contentMs).toBe(6_000);
  });

  test('are learned for each route and class of prompt size', () => {
    const paces = new RoutePaces();
    paceAfter(times(20, 10), { of: paces });
    expect(paces.began({ ...ROUTE, size: 1_023 }, 0).contentMs).toBe(3_000);
    expect(paces.began({ ...ROUTE, size: 1_024 }, 0).contentMs).toBe(15_000);
    expect(paces.began(OTHER_ROUTE, 0).contentMs).toBe(15_000);
  });

  test('grow when streams reach them', () => {
    const paces = new RoutePaces();
    const pace = paceAfter(times(20, 10), { of: paces });
    for (let count = 0; count < 10; count += 1) {
      expect(pace.abandonsUnbegun(0)).toBe(true);
      for (let other = 0; other < 20; other += 1) paces.began(ROUTE, 0);
    }
    expect(pace).toMatchObject({ contentMs: 4_500, silenceMs: 3_000 });
  });
});

describe('the limit of a JSON answer while another route stands by', () => {
  test('is 15 s until enough answers are known, and 300 s where long answers are asked for', () => {
    const startOf = (size: number): number => paceAfter([], { as: { ...ANSWER, size } }).contentMs;
    expect([1, 8_191, 8_192, 100_000].map(startOf)).toEqual([15_000, 15_000, 300_000, 300_000]);
  });

  test('is 1.5 times the p99 of its last answers, between 10 and 300 s, apart from streams', () => {
    const paces = new RoutePaces();
    expect(paceAfter(times(20, 10), { of: paces, as: ANSWER }).contentMs).toBe(10_000);
    expect(paces.began(ROUTE, 0).contentMs).toBe(15_000);
    expect(paceAfter(times(20, 60_000), { as: ANSWER }).contentMs).toBe(90_000);
    expect(paceAfter(times(20, 290_000), { as: ANSWER }).contentMs).toBe(300_000);
  });
});

describe('attempts that are given up', () => {
  test('are 10 of a model in an hour, or 5 % of its streams, on all its routes together', () => {
    const paces = new RoutePaces();
    const one = paces.began(ROUTE, 0);
    const other = paces.began(OTHER_ROUTE, 0);
    for (let count = 0; count < 5; count += 1)
      expect([one.abandonsUnbegun(0), other.abandonsSilent(0)]).toEqual([true, true]);
    expect(one.abandonsUnbegun(0)).toBe(false);
    for (let streams = 2; streams < 219; streams += 1) paces.began(ROUTE, 0);
    expect(one.abandonsUnbegun(0)).toBe(false);
    paces.began(ROUTE, 0);
    expect(one.abandonsUnbegun(0)).toBe(true);
    expect(one.abandonsUnbegun(0)).toBe(false);
    paces.began(ROUTE, HOUR_MS);
    expect(one.abandonsUnbegun(0)).toBe(true);
  });

  test("cost no more tokens in an hour than a node's processes share", () => {
    const pace = new RoutePaces(2).began(ROUTE, 0);
    expect(pace.abandonsUnbegun(ABANDONED_TOKENS_MAX / 2 + 1)).toBe(false);
    expect(pace.abandonsUnbegun(ABANDONED_TOKENS_MAX / 2)).toBe(true);
    expect(pace.abandonsSilent(1)).toBe(false);
  });
});

describe('an attempt that is watched', () => {
  const fast = (isContinued: boolean): PacedAttempt =>
    new PacedAttempt(paceAfter(times(20, 10)), {
      tokens: 1,
      isContinued: () => isContinued,
      isOver: () => false,
    });

  test('is outpaced before its first content by its time, and after it by its silence', () => {
    const stream = fast(true);
    expect([stream.isOutpaced(3_000, 0), stream.isOutpaced(3_001, 0)]).toEqual([false, true]);
    stream.sawContent(100);
    expect([stream.isOutpaced(60_000, 3_000), stream.isOutpaced(60_000, 3_001)]).toEqual([
      false,
      true,
    ]);
  });

  test('is given up after a fixed silence where no other upstream can write on', () => {
    const stream = fast(false);
    stream.sawContent(100);
    expect([stream.isOutpaced(60_000, 15_000), stream.isOutpaced(60_000, 15_001)]).toEqual([
      false,
      true,
    ]);
  });

  test('is not given up once no other route would be asked', () => {
    let isOver = false;
    const pace = paceAfter([], { as: ANSWER });
    const answer = new PacedAttempt(pace, {
      tokens: 1,
      isContinued: () => false,
      isOver: () => isOver,
    });
    expect(answer.isOutpaced(15_000, 0)).toBe(false);
    isOver = true;
    expect(answer.isOutpaced(15_001, 0)).toBe(false);
    isOver = false;
    expect(answer.isOutpaced(15_001, 0)).toBe(true);
  });

  test('adds its first content and its longest silence once it has ended well', () => {
    const pace = paceAfter(times(10, 10));
    for (let count = 0; count < 10; count += 1) {
      const stream = new PacedAttempt(pace, {
        tokens: 1,
        isContinued: () => true,
        isOver: () => false,
      });
      stream.sawBytes(90_000);
      stream.sawContent(4_000);
      for (const ms of [1, 6_000, 2]) stream.sawBytes(ms);
      stream.ended();
    }
    expect(pace).toMatchObject({ contentMs: 6_000, silenceMs: 9_000 });
  });
});
