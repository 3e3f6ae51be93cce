import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { judgeSeam, type Seam } from './seam.ts';

const RUNS = 1_000;
const HEADS =
  'bran cald dorv elin fost gart helm irna jolt kest lorn mavi nelt orsa pelk quon rist salm tarn volk'.split(
    ' ',
  );
const TAILS =
  'adel ber conet dir eval fon gure hold ister ment nar orem pith quel rune saf tove ulm wick yarn'.split(
    ' ',
  );
const WORDS = HEADS.flatMap((head) => TAILS.map((tail) => head + tail));
const word = fc.constantFrom(...WORDS);
const sentence = fc
  .shuffledSubarray(WORDS, { minLength: 6, maxLength: 14 })
  .map((words) => `The ${words.join(' ')}. `);
const prose = fc
  .array(sentence, { minLength: 6, maxLength: 16 })
  .map((sentences) => sentences.join(''));

/** Reads a stream of pieces to its verdict, as the reader does. */
function verdictOf(delivered: string, rest: string, piece: number): Seam {
  for (let end = piece; end < rest.length; end += piece) {
    const seam = judgeSeam(delivered, rest.slice(0, end), false);
    if (seam.kind !== 'more') return seam;
  }
  return judgeSeam(delivered, rest, true);
}

/** The text that the client has in the end; null where it gets the error of the cut. */
function textOf(delivered: string, rest: string, piece: number): string | null {
  const seam = verdictOf(delivered, rest, piece);
  return seam.kind === 'true' ? delivered + rest.slice(seam.overlap) : null;
}

const at = fc.double({ min: 0.1, max: 0.9, noNaN: true });
const piece = fc.integer({ min: 1, max: 40 });

const APOLOGIES = [
  'I apologize for the interruption. ',
  "I'm sorry about that. Continuing: ",
  'Sure, here is the rest: ',
  'Entschuldigung für die Unterbrechung. ',
  'Es tut mir leid, ich mache weiter: ',
  'Désolé pour cette interruption. ',
  'Je m’excuse pour la coupure. ',
  'Lo siento, continúo: ',
  'Mis disculpas por la interrupción. ',
  '抱歉,刚才中断了。',
  '对不起,我继续:',
];
const disobedient: Record<string, (whole: string, cut: number, place: number) => string> = {
  restart: (whole) => whole,
  'restart in the middle': (whole, cut, place) =>
    whole.slice(Math.max(0, whole.lastIndexOf(' ', Math.floor(cut * place)) + 1)),
  apology: (whole, cut, place) =>
    (APOLOGIES[Math.floor(place * APOLOGIES.length)] ?? '') + whole.slice(cut),
  'restart in a block of code': (whole) => '```text\n' + whole + '\n```',
  'restart after words of no list': (whole) => `Zzz qqq vvv. ${whole}`,
  paraphrase: (whole) =>
    whole
      .split('. ')
      .map((each) => each.replace(/^The (\w+) (\w+)/u, 'A $2 with its $1'))
      .join('. '),
};

describe('a continuation that does not continue', () => {
  test.each(Object.entries(disobedient))(
    '(%s) is not passed on as whole, wherever the text was cut',
    (_name, restOf) => {
      fc.assert(
        fc.property(prose, at, at, piece, (whole, share, place, size) => {
          const cut = Math.max(30, Math.floor(whole.length * share));
          const delivered = whole.slice(0, cut);
          const text = textOf(delivered, restOf(whole, cut, place), size);
          // A seam that doubles nothing gives the answer.
          return text === null || text === whole;
        }),
        { numRuns: RUNS },
      );
    },
  );

  test('is one that counts from one again', () => {
    expect(verdictOf('one two three four five', ' one two three', 3)).toEqual({ kind: 'false' });
    expect(verdictOf('one two three four five', 'four five six seven eight', 3)).toEqual({
      kind: 'false',
    });
  });
});

const verse = fc
  .tuple(
    fc.array(sentence, { minLength: 2, maxLength: 2 }),
    fc.array(sentence, { minLength: 8, maxLength: 8 }),
  )
  .map(([refrain, lines]) =>
    [0, 2, 4, 6]
      .map((line) => [...lines.slice(line, line + 2), ...refrain].join('\n'))
      .join('\n\n'),
  );
const table = fc
  .array(fc.tuple(word, fc.nat(9), fc.nat(9)), { minLength: 8, maxLength: 30 })
  .map((rows) => `| name | a | b |\n${rows.map((row) => `| ${row.join(' | ')} |\n`).join('')}`);
const code = fc
  .array(fc.tuple(word, word), { minLength: 5, maxLength: 20 })
  .map((pairs) =>
    pairs
      .map(
        ([name, field]) =>
          `function ${name}(input) {\n  if (!input) return null;\n  return input.${field};\n}\n`,
      )
      .join('\n'),
  );

/** Bounds how many obedient ones may end with the error of the cut, as their seam looks like a repetition. */
const DOUBTED_MAX = 0.35;

describe('a true continuation of a text that repeats itself', () => {
  test.each([
    ['prose', prose],
    ['verse', verse],
    ['a table', table],
    ['code', code],
  ] as const)('(%s) loses nothing', (_name, text) => {
    let doubted = 0;
    fc.assert(
      fc.property(text, at, piece, (whole, share, size) => {
        const cut = Math.floor(whole.length * share);
        const joined = textOf(whole.slice(0, cut), whole.slice(cut), size);
        if (joined === null) doubted += 1;
        return joined === null || joined === whole;
      }),
      { numRuns: RUNS },
    );
    expect(doubted / RUNS).toBeLessThan(DOUBTED_MAX);
  });
});

test('an exact overlap within a sentence is cut, once', () => {
  const delivered = 'The letter lay in the copper box by the old window';
  expect(verdictOf(delivered, 'box by the old window, and waited for morning.', 4)).toEqual({
    kind: 'true',
    overlap: 'box by the old window'.length,
  });
});
