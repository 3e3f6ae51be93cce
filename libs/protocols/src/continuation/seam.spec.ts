import { describe, expect, test } from '@jest/globals';
import { judgeSeam } from './seam.ts';

const DELIVERED = 'one two three four five six seven eight';
const judge = (rest: string, delivered = DELIVERED): string =>
  judgeSeam(delivered, rest, true).kind;

describe('a continuation', () => {
  test('is false where it starts again, from the beginning or the middle', () => {
    expect(judge('one two three four five six seven eight nine ten')).toBe('false');
    expect(judge('one two three')).toBe('false');
    expect(judge('seven eight nine ten')).toBe('false');
    expect(judge('```\none two three four five')).toBe('false');
  });

  test('is false where it speaks of itself', () => {
    for (const rest of [
      "I'm sorry, ",
      'Entschuldigung: ',
      'Je suis désolé. ',
      'Lo siento, ',
      '抱歉,',
    ])
      expect(judge(`${rest}nine ten eleven`)).toBe('false');
  });

  test('is true where it goes further', () => {
    expect(judge(' nine ten eleven twelve')).toBe('true');
    expect(judge('')).toBe('true');
  });

  test('is not known before enough of it is', () => {
    expect(judgeSeam(DELIVERED, ' nine ten', false)).toEqual({ kind: 'more' });
    expect(judgeSeam(DELIVERED, DELIVERED.slice(0, 20), false)).toEqual({ kind: 'more' });
  });
});

test('an exact overlap within a sentence is cut', () => {
  expect(judgeSeam(DELIVERED, 'four five six seven eight nine ten', true)).toEqual({
    kind: 'true',
    overlap: 'four five six seven eight'.length,
  });
});
