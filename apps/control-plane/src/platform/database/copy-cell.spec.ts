import { expect, test } from '@jest/globals';
import { copyCell } from './copy-cell.ts';

test('what COPY gives a meaning to is escaped, and null is no text', () => {
  const cells = [
    'a\tb',
    'c\nd\r',
    String.raw`\N`,
    String.raw`\.`,
    null,
    1.5,
    7n,
    true,
    '',
    'ä"{},',
  ];
  expect(cells.map((cell) => copyCell(cell))).toEqual([
    String.raw`a\tb`,
    String.raw`c\nd\r`,
    String.raw`\\N`,
    String.raw`\\.`,
    String.raw`\N`,
    ...['1.5', '7', 'true', '', 'ä"{},'],
  ]);
});
