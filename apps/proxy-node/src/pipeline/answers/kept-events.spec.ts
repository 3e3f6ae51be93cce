import { expect, test } from '@jest/globals';
import { KeptEvents, type KeptLimit } from './kept-events.ts';

const MIB = 1024 * 1024;

/** Returns the room of one of four workers, which is 16 MiB, and the limits that streams met. */
function roomOf(): { kept: KeptEvents; met: KeptLimit[] } {
  const met: KeptLimit[] = [];
  return { kept: new KeptEvents(4, (limit) => met.push(limit)), met };
}

test("one stream keeps an eighth of its worker's room", () => {
  const { kept, met } = roomOf();
  const room = kept.of(1);
  expect([room.take(MIB, 0), room.take(MIB, MIB)]).toEqual([true, true]);
  expect([kept.bytes, met]).toEqual([2 * MIB, []]);
  expect(room.take(1, 2 * MIB)).toBe(false);
  expect([kept.bytes, met]).toEqual([2 * MIB, ['stream']]);
});

test('S37b: an account takes at most as much as it leaves free; what it gives back is free again', () => {
  const { kept, met } = roomOf();
  const [greedy, other, third] = [1, 2, 3].map((id) => kept.of(id));
  /** Takes as many MiB for streams of one each. */
  const takes = (room: typeof greedy, streams: number): boolean =>
    Array.from({ length: streams }, () => room?.take(MIB, 0)).every((isTaken) => isTaken);
  expect(takes(greedy, 8)).toBe(true);
  expect(greedy?.take(1, 0)).toBe(false);
  expect(takes(other, 4)).toBe(true);
  expect(other?.take(1, 0)).toBe(false);
  expect(third?.take(1, 0)).toBe(true);
  expect([kept.bytes, met]).toEqual([12 * MIB + 1, ['room', 'room']]);
  greedy?.giveBack(8 * MIB);
  expect(takes(other, 2)).toBe(true);
  for (const [room, bytes] of [[other, 6 * MIB] as const, [third, 1] as const])
    room?.giveBack(bytes);
  expect(kept.bytes).toBe(0);
  expect(takes(greedy, 8)).toBe(true);
});
