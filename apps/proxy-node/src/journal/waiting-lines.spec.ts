import { expect, test } from '@jest/globals';
import { WaitingLines } from './waiting-lines.ts';

test('the live lines that fit are written in their order, and the others wait in theirs', () => {
  const lines = new WaitingLines();
  for (const text of ['aaaa', 'other', 'bbbb', 'cc', 'dddd']) lines.add(text, text !== 'other');
  const written: string[] = [];
  const write = (bytes: Buffer): void => void written.push(bytes.toString());
  lines.writeLive(10, write);
  expect([written, lines.count, lines.bytes, lines.hasLive]).toEqual([['aaaabbbbcc'], 2, 9, true]);
  lines.writeLive(3, write);
  lines.writeAll(write);
  expect([written, lines.count, lines.hasLive]).toEqual([
    ['aaaabbbbcc', '', 'otherdddd'],
    0,
    false,
  ]);
});

test('lines that could not be written continue to wait', () => {
  const lines = new WaitingLines();
  lines.add('line', true);
  const fail = (): void => {
    throw new Error('EIO');
  };
  expect(() => lines.writeAll(fail)).toThrow('EIO');
  expect(() => lines.writeLive(10, fail)).toThrow('EIO');
  expect(lines.count).toBe(1);
});

test('lines longer than the block are written whole, behind those before them', () => {
  const lines = new WaitingLines();
  const long = 'é'.repeat(100_000);
  for (const text of ['a', long, 'b']) lines.add(text, false);
  expect(lines.bytes).toBe(200_002);
  const written: string[] = [];
  lines.writeAll((bytes) => void written.push(bytes.toString()));
  expect(written).toEqual([`a${long}b`]);
});
