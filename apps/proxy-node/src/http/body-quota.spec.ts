import { expect, test } from '@jest/globals';
import { Refusal } from '../refusals.ts';
import { BodyQuota, type QuotaOfRequest, type TakeQuota } from './body-quota.ts';

const LARGEST = 1_000;
/** Is room for 16 bodies of the largest size. */
const ROOM = 16 * LARGEST;

/** Bodies of the largest size an account gets in, and how the next one is refused. */
function fill(quota: BodyQuota, accountId: number): { inside: QuotaOfRequest[]; refused: string } {
  const inside: QuotaOfRequest[] = [];
  for (;;) {
    const entered = quota.enter();
    try {
      entered.takeFor(accountId)(LARGEST);
      inside.push(entered);
    } catch (error) {
      return { inside, refused: error instanceof Refusal ? error.code : String(error) };
    }
  }
}

test('one account fills half of the room at most, and its refusal names the account as the cause (S37a)', () => {
  const { inside, refused } = fill(new BodyQuota(LARGEST), 1);
  expect(inside.length).toBe(8);
  expect(refused).toBe('uploads_exceeded');
});

test('later accounts get room until it is full', () => {
  const quota = new BodyQuota(LARGEST);
  const counts = [1, 2, 3, 4, 5, 6, 7].map((account) => fill(quota, account));
  expect(counts.map(({ inside }) => inside.length)).toEqual([8, 4, 2, 1, 1, 0, 0]);
  expect(counts.at(-1)?.refused).toBe('not_serving');
  const taken = counts.reduce((sum, { inside }) => sum + inside.length * LARGEST, 0);
  expect(taken).toBe(ROOM);
});

test('what a request held is free again when it leaves, also for its own account', () => {
  const quota = new BodyQuota(LARGEST);
  for (const entered of fill(quota, 1).inside) {
    entered.leave();
    entered.leave();
  }
  expect(fill(quota, 1).inside.length).toBe(8);
});

/** Takes pieces until there is no room: how much came in, and how the next piece is refused. */
function takeInPieces(take: TakeQuota): { bytes: number; refused: string } {
  for (let bytes = 0; ; bytes += 100) {
    try {
      take(100);
    } catch (error) {
      return { bytes, refused: error instanceof Refusal ? error.code : String(error) };
    }
  }
}

test('bodies of unknown size are taken piece by piece and meet the same limit', () => {
  const quota = new BodyQuota(LARGEST);
  const inside = quota.enter();
  inside.takeFor(1)(100);
  expect(takeInPieces(quota.enter().takeFor(1))).toEqual({
    bytes: ROOM / 2 - 100,
    refused: 'uploads_exceeded',
  });
});

test('the only upload of an account is never its own doing, however little room others leave', () => {
  const quota = new BodyQuota(LARGEST);
  for (let others = 0; others < 15; others += 1) quota.enter().takeFor(100 + others)(LARGEST);
  expect(takeInPieces(quota.enter().takeFor(1))).toEqual({
    bytes: LARGEST,
    refused: 'not_serving',
  });
});
