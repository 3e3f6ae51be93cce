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

  test('is false where it says a place of the text again in other words', () => {
    const text =
      'The captain left the harbour before dawn. No one on the bridge saw the small lantern he carried.';
    const again =
      ' Our captain had left the harbour well before dawn. No one up on the bridge saw the lantern that he carried.';
    expect(judge(again, text)).toBe('false');
  });

  test('is false where it opens a sentence within one, or changes the script', () => {
    const text = 'the captain left the small harbour before dawn and';
    expect(judge(' Resuming here: the river was calm.', text)).toBe('false');
    expect(judge('先ほどの続きです。the river was calm.', text)).toBe('false');
    const code = 'const keepAlive = open(target); return keepAli';
    expect(judge('Resuming the code from there: ve.read();', code)).toBe('false');
    expect(judge('ve.readAll();', code)).toBe('true');
    expect(judge(' I saw the river.', 'Yesterday I said that I knew, and')).toBe('true');
  });

  test('is true where the text repeats its own form', () => {
    const unit = (name: string): string =>
      `function ${name}(input) {\n  if (!input) return null;\n  return input.${name}Id;\n}\n\n`;
    const code = ['alpha', 'beta', 'gamma', 'delta', 'kappa', 'sigma'].map(unit).join('');
    for (let cut = 100; cut < code.length; cut += 1)
      expect([cut, judge(code.slice(cut), code.slice(0, cut))]).toEqual([cut, 'true']);
    const row = (number: number): string => `| item ${number} | ${number * 7} | in stock |\n`;
    const table = Array.from({ length: 20 }, (_, number) => row(number)).join('');
    for (let cut = 40; cut < table.length; cut += 1)
      expect([cut, judge(table.slice(cut), table.slice(0, cut))]).toEqual([cut, 'true']);
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

test('an overlap that begins with the final word of the text is cut whole, or not at all', () => {
  const delivered = 'The lantern burned low while no one carried the lantern ';
  const rest = 'lantern burned low while no one carried the lantern home.';
  expect(judgeSeam(delivered, rest, true)).toEqual({
    kind: 'true',
    overlap: rest.length - 'home.'.length,
  });
});

test('the seam of a text that is hostile in its form is judged in the time of its length', () => {
  const texts = [
    `a${' '.repeat(300_000)}b`,
    'la '.repeat(20_000),
    '-'.repeat(100_000),
    `a${'1'.repeat(300_000)}`,
  ];
  for (const text of texts)
    expect(['true', 'false']).toContain(judge('the river was calm, and no one saw it', text));
}, 10_000);
