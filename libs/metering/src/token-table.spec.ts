import { expect, test } from '@jest/globals';
import tokens from 'gpt-tokenizer/bpeRanks/o200k_base';
import { NO_RANK, readO200k, TokenTable } from './token-table.ts';

const ENCODER = new TextEncoder();
const lineOf = (token: string, rank: number): string => `${btoa(token)} ${rank}\n`;

test('has each token of o200k with its rank, and none beside them', () => {
  const table = readO200k();
  expect(table.size).toBe(tokens.length);
  const wrong = tokens.filter((token, rank) => {
    const bytes = typeof token === 'string' ? ENCODER.encode(token) : Uint8Array.from(token);
    return table.rankOf(bytes, 0, bytes.length) !== rank;
  });
  expect(wrong).toEqual([]);
  for (const text of ['', 'no such token', '\uD7FF\uFFFF'])
    expect(table.rankOf(ENCODER.encode(text), 0, ENCODER.encode(text).length)).toBe(NO_RANK);
});

test('finds a token in the middle of a piece, with and without padding in its line', () => {
  const names = ['a', 'ab', 'abc', 'abcd'];
  const table = new TokenTable(ENCODER.encode(names.map(lineOf).join('')));
  const piece = ENCODER.encode('xxabcdxx');
  expect(names.map((name) => table.rankOf(piece, 2, 2 + name.length))).toEqual([0, 1, 2, 3]);
  expect(table.rankOf(piece, 1, 3)).toBe(NO_RANK);
});

test('reads a last line without an end', () => {
  const table = new TokenTable(ENCODER.encode(['a', 'b'].map(lineOf).join('').trimEnd()));
  expect(table.size).toBe(2);
  expect(table.rankOf(ENCODER.encode('b'), 0, 1)).toBe(1);
});
