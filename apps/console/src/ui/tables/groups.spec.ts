import { expect, test } from '@jest/globals';
import { groupsOf, linesOf } from './groups.ts';

const ROWS = ['ab', 'ba', 'ac', 'ca', 'bb'];
const first = (row: string): string => row.charAt(0);

test('rows stand in groups, in the order of their first rows', () => {
  expect(groupsOf(ROWS, first)).toEqual([
    { name: 'a', rows: ['ab', 'ac'] },
    { name: 'b', rows: ['ba', 'bb'] },
    { name: 'c', rows: ['ca'] },
  ]);
});

test('a folded group is one line, an open one has its rows below it', () => {
  const lines = linesOf(groupsOf(ROWS, first), (name) => name === 'b');
  const shown = lines.map((line) => ('row' in line ? line.row : `${line.group.name}:`));
  expect(shown).toEqual(['a:', 'b:', 'ba', 'bb', 'c:']);
});
