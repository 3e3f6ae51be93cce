import { expect, test } from '@jest/globals';
import { withKept } from './acted-rows.ts';

const idOf = (row: string): string => row.toLowerCase();
const kept = (row: string, index: number) => ({ row, index });

test('a row that was acted on stays where it was although the list no longer has it', () => {
  expect(withKept(['b', 'c'], [kept('A', 0)], idOf)).toEqual(['A', 'b', 'c']);
  expect(withKept(['a', 'c'], [kept('B', 1)], idOf)).toEqual(['a', 'B', 'c']);
  expect(withKept([], [kept('B', 1), kept('A', 0)], idOf)).toEqual(['A', 'B']);
});

test('a row that the list still has is shown once, as it is after the act', () => {
  expect(withKept(['a', 'b', 'c'], [kept('B', 1)], idOf)).toEqual(['a', 'B', 'c']);
});
