import { expect, test } from '@jest/globals';
import { KeptEvents } from './kept-events.ts';

const MIB = 1024 * 1024;

test('S37b: an account takes at most as much as it leaves free; what it gives back is free again', () => {
  const kept = new KeptEvents(4);
  const [greedy, other, third] = [1, 2, 3].map((id) => kept.of(id));
  expect(greedy?.take(8 * MIB)).toBe(true);
  expect(greedy?.take(1)).toBe(false);
  expect(other?.take(4 * MIB)).toBe(true);
  expect(other?.take(1)).toBe(false);
  expect(third?.take(1)).toBe(true);
  expect(kept.bytes).toBe(12 * MIB + 1);
  greedy?.giveBack(8 * MIB);
  expect(other?.take(2 * MIB)).toBe(true);
  for (const [room, bytes] of [[other, 6 * MIB] as const, [third, 1] as const])
    room?.giveBack(bytes);
  expect(kept.bytes).toBe(0);
  expect(greedy?.take(8 * MIB)).toBe(true);
});
