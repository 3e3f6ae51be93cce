import { expect, test } from '@jest/globals';
import { Refusal } from '../refusals.ts';
import { BodyRoom, type RoomOfRequest, type TakeRoom } from './body-room.ts';

const LARGEST = 1_000;
/** 16 bodies of the largest size. */
const ROOM = 16 * LARGEST;

/** Bodies of the largest size an account gets in, and how the next one is refused. */
function fill(room: BodyRoom, accountId: number): { inside: RoomOfRequest[]; refused: string } {
  const inside: RoomOfRequest[] = [];
  for (;;) {
    const entered = room.enter();
    try {
      entered.takeFor(accountId)(LARGEST);
      inside.push(entered);
    } catch (error) {
      return { inside, refused: error instanceof Refusal ? error.code : String(error) };
    }
  }
}

test('one account fills half of the room at most, and its refusal names the account as the cause', () => {
  const { inside, refused } = fill(new BodyRoom(LARGEST), 1);
  expect(inside.length).toBe(8);
  expect(refused).toBe('uploads_exceeded');
});

test('later accounts get room until it is full', () => {
  const room = new BodyRoom(LARGEST);
  const counts = [1, 2, 3, 4, 5, 6, 7].map((account) => fill(room, account));
  expect(counts.map(({ inside }) => inside.length)).toEqual([8, 4, 2, 1, 1, 0, 0]);
  expect(counts.at(-1)?.refused).toBe('not_serving');
  const taken = counts.reduce((sum, { inside }) => sum + inside.length * LARGEST, 0);
  expect(taken).toBe(ROOM);
});

test('what a request held is free again when it leaves, also for its own account', () => {
  const room = new BodyRoom(LARGEST);
  for (const entered of fill(room, 1).inside) {
    entered.leave();
    entered.leave();
  }
  expect(fill(room, 1).inside.length).toBe(8);
});

/** Takes pieces until there is no room: how much came in, and how the next piece is refused. */
function takeInPieces(take: TakeRoom): { bytes: number; refused: string } {
  for (let bytes = 0; ; bytes += 100) {
    try {
      take(100);
    } catch (error) {
      return { bytes, refused: error instanceof Refusal ? error.code : String(error) };
    }
  }
}

test('bodies of unknown size are taken piece by piece and meet the same limit', () => {
  const room = new BodyRoom(LARGEST);
  const inside = room.enter();
  inside.takeFor(1)(100);
  expect(takeInPieces(room.enter().takeFor(1))).toEqual({
    bytes: ROOM / 2 - 100,
    refused: 'uploads_exceeded',
  });
});

test('the only upload of an account is never its own doing, however little room others leave', () => {
  const room = new BodyRoom(LARGEST);
  for (let others = 0; others < 15; others += 1) room.enter().takeFor(100 + others)(LARGEST);
  expect(takeInPieces(room.enter().takeFor(1))).toEqual({ bytes: LARGEST, refused: 'not_serving' });
});
