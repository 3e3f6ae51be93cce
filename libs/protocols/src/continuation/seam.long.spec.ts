import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { hasFixtures } from '../../test/fixtures.ts';
import { DISOBEDIENT, DISOBEYED, WHOLE } from '../../test/seam-texts.ts';
import { DISOBEDIENT_THIRD, WHOLE_THIRD, diceOf, type Dice } from '../../test/seam-texts-third.ts';
import { joinedBy } from '../../test/joined-texts.ts';
import { anchorOf } from './anchor.ts';

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
          const text = joinedBy(whole.slice(0, cut), restOf(whole, cut, place), size);
          // A seam that doubles nothing gives the answer.
          return text === null || text === whole;
        }),
        { numRuns: RUNS },
      );
    },
  );
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

/** Returns the ends by which a model that obeys continues: from a prefill, and by the instruction. */
function obedientRests(whole: string, cut: number): string[] {
  const delivered = whole.slice(0, cut);
  const start = cut - (anchorOf(delivered)?.length ?? 0);
  return [whole.slice(delivered.slice(0, start).trimEnd().length), whole.slice(start)];
}

describe('a true continuation of a text that repeats itself', () => {
  test.each([
    ['prose', prose],
    ['verse', verse],
    ['a table', table],
    ['code', code],
  ] as const)('(%s) loses nothing', (_name, text) => {
    fc.assert(
      fc.property(text, at, piece, (whole, share, size) => {
        const cut = Math.floor(whole.length * share);
        for (const rest of obedientRests(whole, cut))
          expect(joinedBy(whole.slice(0, cut), rest, size)).toBe(whole);
      }),
      { numRuns: RUNS },
    );
  });
});

interface Sample {
  readonly whole: string;
  readonly cut: number;
  readonly dice: Dice;
}

/** Returns those that the client gets as a whole answer that is none. */
function passedOn(
  samples: readonly Sample[],
  disobey: (whole: string, cut: number, dice: Dice) => string,
): string[] {
  return samples.flatMap(({ whole, cut, dice }) => {
    const text = joinedBy(whole.slice(0, cut), disobey(whole, cut, dice), 9);
    return text === null || text === whole ? [] : [text];
  });
}

/** Returns those that end with the error of the cut, or in other words than the answer has. */
function lost(samples: readonly Sample[]): Sample[] {
  return samples.filter(({ whole, cut }) =>
    obedientRests(whole, cut).some((rest) => joinedBy(whole.slice(0, cut), rest, 9) !== whole),
  );
}

/** The second set has real texts and other forms. */
describe('texts as models write them', () => {
  if (!hasFixtures) test.skip('skipped: there are no recorded answers', () => undefined);
  const SAMPLES = 200;
  const samplesOf = (texts: fc.Arbitrary<string>): Sample[] =>
    fc
      .sample(fc.tuple(texts, at), { numRuns: SAMPLES, seed: 1_013 })
      .map(([whole, share], place) => ({
        whole,
        cut: Math.max(30, Math.floor(whole.length * share)),
        dice: diceOf(`second ${place}`),
      }));

  test.each(Object.entries(WHOLE))('(%s) lose nothing where they are continued', (_name, texts) => {
    expect(lost(samplesOf(texts)).length).toBeLessThanOrEqual(0);
  });

  test.each(Object.entries(DISOBEDIENT))('a continuation that %s fails', (_name, disobey) => {
    const samples = DISOBEYED.flatMap((kind) => WHOLE[kind] ?? []).flatMap(samplesOf);
    expect(passedOn(samples, disobey)).toEqual([]);
  });
});

/** The third set has words and forms that the others do not have. */
describe('texts in words of no language', () => {
  const SAMPLES = 100;
  const samplesOf = (name: string, text: (dice: Dice) => string): Sample[] =>
    Array.from({ length: SAMPLES }, (_, place) => {
      const dice = diceOf(`${name} ${place}`);
      const whole = text(dice);
      const cut = Math.max(1, Math.floor(whole.length * (0.05 + 0.9 * dice())));
      return { whole, cut, dice };
    });
  const samples = Object.entries(WHOLE_THIRD).map(
    ([name, text]) => [name, samplesOf(name, text)] as const,
  );

  test.each(samples)('(%s) lose nothing where they are continued', (_name, ones) => {
    expect(lost(ones).length).toBeLessThanOrEqual(0);
  });

  /** An answer may say the anchor once more behind the cut: one that skips all between them is another answer, and nothing shows that it is not whole. */
  const PASSED_MAX: Readonly<Record<string, number>> = { 'skips some words': 1 };
  test.each(Object.entries(DISOBEDIENT_THIRD))('a continuation that %s fails', (name, disobey) => {
    const passed = passedOn(
      samples.flatMap(([, ones]) => ones),
      disobey,
    );
    expect(passed.length).toBeLessThanOrEqual(PASSED_MAX[name] ?? 0);
  });
});
