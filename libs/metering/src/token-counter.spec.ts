import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { countTokens, countTokensGently, TokenCounter } from './token-counter.ts';

const exact = (text: string): number => encode(text, { disallowedSpecial: new Set() }).length;
const word = fc.constantFrom(
  'the',
  ' quick',
  '  ',
  '\n',
  '\n\n  ',
  "don't",
  "I'll ",
  'naïve',
  'über ',
  '漢字',
  'かな、',
  '。',
  '🙂',
  ' 🇨🇭',
  '12345',
  '3.14 ',
  '{"a":',
  ' [1]',
  '//',
  '!?\r\n',
  '\t',
  ' ',
  "'",
  'é',
  '<|endoftext|>',
  ' def f(x):',
);
/** The package misses tokens that begin with a byte order mark: its decoder drops the mark. */
const withoutMark = (text: string): string => text.replaceAll('\uFEFF', '');
const pieces = fc.oneof(
  fc.array(word, { maxLength: 60 }),
  fc.array(fc.string({ unit: 'grapheme', maxLength: 12 }).map(withoutMark), { maxLength: 30 }),
  fc.array(fc.string({ unit: 'binary', maxLength: 6 }).map(withoutMark), { maxLength: 30 }),
);

/** Makes runs of few characters, as no writer of prose makes them. */
const unbroken = fc
  .array(
    fc.tuple(
      fc.constantFrom(
        '=',
        '-',
        '=-',
        '/\n',
        '/',
        '\n',
        ' ',
        'a',
        'B',
        'ab',
        '漢',
        '漢字',
        '🙂',
        '\u0301',
        "'",
        '7',
        '\uD83D',
      ),
      fc.integer({ min: 1, max: 250 }),
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((runs) => runs.map(([unit, times]) => unit.repeat(times)).join(''));

/** Returns the milliseconds that the work takes. */
function costOf(work: () => unknown): number {
  const startedAt = performance.now();
  work();
  return performance.now() - startedAt;
}

/** Compares the least cost of both works, in turns, until it is below this ratio: other work on the machine only adds to a cost. */
function ratioOfCosts(work: () => unknown, base: () => unknown, wanted: number): number {
  let [least, leastOfBase] = [Infinity, Infinity];
  for (let round = 0; round < 40 && !(least < wanted * leastOfBase); round += 1) {
    leastOfBase = Math.min(leastOfBase, costOf(base));
    least = Math.min(least, costOf(work));
  }
  return least / leastOfBase;
}

describe('TokenCounter', () => {
  test('ends at exactly what the tokenizer counts for the whole text, however it was cut', () => {
    fc.assert(
      fc.property(pieces, fc.nat(), (texts, seed) => {
        const counter = new TokenCounter();
        texts.forEach((text, index) => {
          counter.push(text);
          if ((seed >> (index % 30)) & 1) void counter.tokens;
        });
        expect(counter.finish()).toBe(exact(texts.join('')));
      }),
      { numRuns: 1_000 },
    );
  });

  test('says at any moment what it would end at', () => {
    fc.assert(
      fc.property(pieces, (texts) => {
        const counter = new TokenCounter();
        let text = '';
        for (const piece of texts) {
          counter.push(piece);
          text += piece;
          expect(counter.tokensIfEnded).toBe(exact(text));
        }
      }),
      { numRuns: 200 },
    );
  });

  test('never runs ahead of the true count of any text that begins like this, and never goes back', () => {
    fc.assert(
      fc.property(pieces, (texts) => {
        const counter = new TokenCounter();
        let before = 0;
        const seen: number[] = [];
        for (const text of texts) {
          counter.push(text);
          expect(counter.tokens).toBeGreaterThanOrEqual(before);
          before = counter.tokens;
          seen.push(before);
        }
        const whole = exact(texts.join(''));
        expect(seen.every((count) => count <= whole)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  test('counts a text without a boundary exactly, while it comes and at its end', () => {
    fc.assert(
      fc.property(unbroken, fc.integer({ min: 30, max: 700 }), (text, step) => {
        const counter = new TokenCounter();
        const expected = countTokens(text);
        for (let start = 0; start < text.length; start += step) {
          counter.push(text.slice(start, start + step));
          expect(counter.tokens).toBeLessThanOrEqual(expected);
        }
        expect(counter.tokensIfEnded).toBe(expected);
        expect(expected - counter.tokens).toBeLessThanOrEqual(1_100);
        expect(counter.finish()).toBe(expected);
      }),
      { numRuns: 100 },
    );
  });

  test.each([
    '¤_get',
    '\n¤_get',
    '\n¤¤.iddle',
    "aB's",
    '=-/\n',
    '漢字a',
    '🙂=',
    '/\n',
    '9=',
    '\u0301x',
  ])('counts %j without end as in one go, however it comes', (unit) => {
    const text = unit.repeat(1_000);
    const whole = countTokens(text);
    for (const step of [7, 64, 1_000, 10_000]) {
      const counter = new TokenCounter();
      for (let start = 0; start < text.length; start += step) {
        counter.push(text.slice(start, start + step));
        expect(counter.tokens).toBeLessThanOrEqual(whole);
      }
      expect(counter.finish()).toBe(whole);
    }
  });

  test.each(['ａ', 'უ', 'რ', 'ం', 'រ', '\u0E00', '্ঙ'])(
    'counts %j, whose tokens end inside characters, by nearly all tokens, in pushes of few',
    (unit) => {
      const text = unit.repeat(6_000);
      const counter = new TokenCounter();
      for (let start = 0; start < text.length; start += 10) {
        counter.push(text.slice(start, start + 10));
        void counter.tokens;
      }
      const whole = countTokens(text);
      expect(counter.tokens).toBeGreaterThan(0.85 * whole);
      expect(counter.tokens).toBeLessThanOrEqual(whole);
      expect(Math.abs(counter.finish() - whole)).toBeLessThan(0.01 * whole);
    },
  );

  test('makes way for others while it counts a long answer, and counts the same', async () => {
    const text = '=-'.repeat(10_000);
    const counter = new TokenCounter();
    counter.push(text);
    let pauses = 0;
    await counter.countGently(() => Promise.resolve(void pauses++));
    expect(pauses).toBe(5);
    expect(counter.finish()).toBe(countTokens(text));
  });

  test('counts nothing for nothing', () => {
    expect(new TokenCounter().finish()).toBe(0);
  });
});

describe('countTokens', () => {
  test('counts texts without a boundary as the tokenizer does', () => {
    fc.assert(
      fc.property(unbroken, (text) => {
        expect(countTokens(text)).toBe(exact(text));
      }),
      { numRuns: 60 },
    );
  });

  test.each([
    ['letters', 'a'],
    ['capitals', 'A'],
    ['CJK', '漢'],
    ['signs', '='],
    ['signs in turn', `${'='.repeat(32)}${'-'.repeat(32)}`],
    ['blanks', ' '],
    ['lines', '\n'],
    ['signs and lines', '/\n'],
    ['signs with a line now and then', `${'/'.repeat(60)}\n`],
    ['digits', '7'],
    ['emoji', '🙂'],
    ['marks', '\u0301'],
    ['halves of pairs', '\uD83D'],
  ])('takes about as long for %s without end as for the same in 16 pieces', (_name, unit) => {
    const text = unit.repeat(32_768).slice(0, 32_768);
    const piece = text.slice(0, text.length / 16);
    const whole = (): unknown => countTokens(text);
    const pieces = (): unknown => Array.from({ length: 16 }, () => countTokens(piece));
    // A quadratic cost is 16 times as much.
    expect(ratioOfCosts(whole, pieces, 4)).toBeLessThan(4);
  });

  test('counts a byte order mark and what follows it by the tokens that begin with one', () => {
    expect(countTokens('\uFEFFusing')).toBe(1);
  });

  test('counts a word that is no token and longer than any before', () => {
    const name = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft';
    const marks = `${'é'.normalize('NFD').repeat(32)}${'\n'.repeat(2_000)}`;
    for (const text of [name.slice(0, 64), marks]) expect(countTokens(text)).toBe(exact(text));
  });

  test('takes spelled-out special tokens as text', () => {
    expect(countTokens('a <|endoftext|> b')).toBeGreaterThan(5);
  });

  test('says the same when it makes way for others', async () => {
    const text = 'The quick brown fox, and so on. '.repeat(2_000);
    let pauses = 0;
    const gentle = await countTokensGently(text, () => Promise.resolve(void pauses++));
    expect(gentle).toBe(countTokens(text));
    expect(pauses).toBe(16);
  });
});
