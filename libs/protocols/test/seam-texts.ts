import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { list, record, records, text } from '../src/json/json-guard.ts';
import { readFixture, recordings } from './fixtures.ts';

/** Whole answers, and what a second model makes of them: real ones, and generated ones that repeat themselves as answers do. */
const ROOT = path.resolve(import.meta.dirname, '../../..');
const LENGTH_MIN = 300;

function textsOf(pattern: string): string[] {
  return globSync(pattern, { cwd: ROOT })
    .toSorted()
    .map((file) => readFileSync(path.join(ROOT, file), 'utf8'))
    .filter((text) => text.length > LENGTH_MIN);
}

/** Makes windows of texts that begin at a line, as an answer does. */
function windowsOf(texts: readonly string[]): fc.Arbitrary<string> {
  return fc
    .tuple(
      fc.constantFrom(...texts),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.integer({ min: LENGTH_MIN, max: 4_000 }),
    )
    .map(([text, share, length]) => {
      const from = Math.floor(share * Math.max(0, text.length - length));
      const start = from === 0 ? 0 : text.indexOf('\n', from) + 1;
      return text.slice(start, start + length);
    })
    .filter((text) => text.length >= LENGTH_MIN);
}

function recordedAnswers(): string[] {
  return recordings(
    ({ protocol, isStream }) => !isStream && ['chat', 'messages'].includes(protocol),
  )
    .map(({ file }) => answerOf(JSON.parse(readFixture(file).toString())))
    .filter((text) => text.length > LENGTH_MIN);
}

function answerOf(body: unknown): string {
  const answer = record(body);
  const message = record(record(list(answer['choices'])[0])['message']);
  const parts = records(answer['content']).map((part) => text(part['text']) ?? '');
  return text(message['content']) ?? parts.join('');
}

const NAMES = ['Alice', 'Bruno', 'Chidi', 'Dagny', 'Emeka', 'Farah', 'Greta', 'Hiro'];
const NOUNS =
  'river lantern market letter garden engine winter captain bridge teacher harbour window morning kitchen soldier painter'.split(
    ' ',
  );
const VERBS =
  'carried watched followed opened painted answered borrowed crossed forgot gathered'.split(' ');
const CHARACTERS = [...'春风花雨山河天地人心月星云水火土金木东西南北'];
const of = <T>(list: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...list);

const clause = fc
  .tuple(
    of(NOUNS),
    of(VERBS),
    of(NOUNS),
    of(['by the', 'near an old', 'without a', 'for the']),
    of(NOUNS),
  )
  .map(([who, did, what, how, where]) => `the ${who} ${did} the ${what} ${how} ${where}`);
const dialogue = fc
  .array(fc.tuple(of(NAMES), of(NAMES), clause, clause), { minLength: 6, maxLength: 20 })
  .map((turns) =>
    turns
      .map(
        ([who, to, first, second]) =>
          `${who} looked at ${to}. "I think ${first}, and I know that ${second}," ${who} said to ${to}.\n`,
      )
      .join(''),
  );
const anaphora = fc
  .array(fc.tuple(of(NOUNS), of(VERBS), of(NOUNS)), { minLength: 6, maxLength: 24 })
  .map((lines) =>
    lines
      .map(
        ([who, did, what]) =>
          `I dream of a day when the ${who} ${did} every ${what} of this land.\n`,
      )
      .join('\n'),
  );
/** Each verse repeats all earlier ones. */
const cumulative = fc
  .uniqueArray(fc.tuple(of(NOUNS), of(VERBS)), {
    minLength: 5,
    maxLength: 9,
    selector: ([noun]) => noun,
  })
  .map((parts) =>
    parts
      .map((_, at) =>
        parts
          .slice(0, at + 1)
          .toReversed()
          .map(([noun, verb], place) =>
            place === 0 ? `This is the ${noun}` : `that ${verb} the ${noun}`,
          )
          .join('\n'),
      )
      .join('.\n\n'),
  );
const json = fc
  .array(
    fc.record({
      id: fc.nat(9_999),
      name: of(NAMES),
      item: of(NOUNS),
      active: fc.boolean(),
      price: fc.nat(500),
    }),
    { minLength: 6, maxLength: 25 },
  )
  .map((rows) => JSON.stringify(rows, null, 2));
const log = fc
  .array(fc.tuple(fc.nat(59), of(['INFO', 'WARN', 'INFO']), of(NOUNS), fc.nat(999)), {
    minLength: 8,
    maxLength: 40,
  })
  .map((rows) =>
    rows
      .map(
        ([second, level, noun, ms], at) =>
          `2026-03-01T10:${String(at % 60).padStart(2, '0')}:${String(second).padStart(2, '0')}Z ${level} request of ${noun} finished in ${ms} ms\n`,
      )
      .join(''),
  );
const sums = fc
  .tuple(fc.integer({ min: 2, max: 19 }), fc.integer({ min: 10, max: 40 }))
  .map(([by, count]) =>
    Array.from({ length: count }, (_, at) => `${by} x ${at + 1} = ${by * (at + 1)}\n`).join(''),
  );
const sql = fc
  .array(fc.tuple(fc.nat(999), of(NAMES), of(NOUNS)), { minLength: 6, maxLength: 25 })
  .map((rows) =>
    rows
      .map(
        ([id, name, noun]) =>
          `INSERT INTO orders (id, customer, item) VALUES (${id}, '${name}', '${noun}');\n`,
      )
      .join(''),
  );
const items = fc
  .array(fc.tuple(of(NOUNS), clause, clause), { minLength: 5, maxLength: 14 })
  .map((rows) =>
    rows
      .map(
        ([noun, first, second], at) =>
          `${at + 1}. **The ${noun}**: ${first}.\n   - Note: ${second}.\n`,
      )
      .join(''),
  );
const counting = fc
  .integer({ min: 30, max: 90 })
  .map((count) => Array.from({ length: count }, (_, at) => spoken(at + 1)).join(', '));

function spoken(number: number): string {
  const ones =
    ' one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
      ' ',
    );
  const tens = '  twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');
  if (number < 20) return ones[number] ?? '';
  return [tens[Math.floor(number / 10)], ones[number % 10]].filter(Boolean).join('-');
}

const chinese = textsOf('apps/console/src/words/zh/*.ts')
  .map((text) =>
    [...text.matchAll(/'([^'\n]*[\u4e00-\u9fff][^'\n]*)'/g)].map(([, words]) => words).join('。'),
  )
  .filter((text) => text.length > LENGTH_MIN);
const answers = recordedAnswers();

/** Makes answers that a second model is asked to continue. */
export const WHOLE: Readonly<Record<string, fc.Arbitrary<string>>> = {
  documents: windowsOf(textsOf('docs/*.md').concat(textsOf('docs/*/*.md'))),
  'source code': windowsOf(
    textsOf('libs/*/src/*/*.ts').filter((text) => !text.includes('judgeSeam')),
  ),
  lua: windowsOf(textsOf('libs/keyspace/lua/*.lua')),
  chinese: windowsOf(chinese),
  ...(answers.length > 0 && { 'recorded answers': windowsOf(answers) }),
  dialogue,
  anaphora,
  'a cumulative song': cumulative,
  json,
  'a log': log,
  sums,
  sql,
  'a list': items,
  counting,
};

const PREAMBLES = [
  'It looks like my last message got cut short, so here is what was missing: ',
  'Apologies, let me finish that thought. ',
  'Right, where was I? ',
  'Resuming my answer now. ',
  'Picking up from the previous word: ',
  'Okay, continuing below.\n\n',
  'The response was truncated; the remainder follows.\n\n',
  "Here's the remainder:\n\n",
  'Thanks for your patience! ',
  'Meine Antwort wurde leider abgeschnitten, hier der Rest: ',
  'Weiter geht es: ',
  'Ich knüpfe dort an, wo ich aufgehört habe: ',
  'Voici la fin de ma réponse : ',
  'Je termine donc ma phrase : ',
  'Ma réponse a été tronquée, la voici complète : ',
  'Mi respuesta se cortó; sigo aquí: ',
  'Retomo donde lo dejé: ',
  'Aquí va el resto: ',
  '上面的回答被截断了,下面是剩余部分:',
  '我接着刚才的内容说:',
  '抱歉让您久等了,',
  '先ほどの続きです。',
  'Minha resposta foi cortada, segue o restante: ',
  'La mia risposta si è interrotta: ecco il resto. ',
  'Мой ответ оборвался, вот остаток: ',
  '답변이 끊겼네요. 이어서 말씀드리겠습니다. ',
];

/** `dice` gives numbers from 0 to 1. */
type Dice = () => number;
type Disobey = (whole: string, cut: number, dice: Dice) => string;
const pick = <T>(list: readonly T[], dice: Dice): T => list[Math.floor(dice() * list.length)] as T;

/** Replaces a share of the words, as another model that writes the same would; the first words stay. */
function drifted(text: string, share: number, dice: Dice): string {
  let seen = 0;
  return text.replaceAll(/\p{Script=Han}|\p{L}{3,}/gu, (word) => {
    seen += 1;
    if (seen <= 3 || dice() >= share) return word;
    return /\p{Script=Han}/u.test(word) ? pick(CHARACTERS, dice) : pick(NOUNS, dice);
  });
}

/** Returns a place before the cut at which a sentence or a line begins; the beginning where there is none. */
function sentenceStart(text: string, cut: number, dice: Dice): number {
  const starts = [
    ...text.slice(0, Math.floor(cut * 0.8)).matchAll(/(?<=[.!?。]\s?|\n)(?=\S)/gu),
  ].map(({ index }) => index);
  return starts.length === 0 ? 0 : pick(starts, dice);
}

/** Returns the last place before the cut at which a line or a sentence begins that has a word before the cut. */
function ownStart(text: string, cut: number): number {
  const starts = [...text.slice(0, cut).matchAll(/(?<=^|\n|[.!?。] ?)(?=[^\n]*?[\p{L}\p{N}])/gu)];
  return starts.findLast(({ index }) => /[\p{L}\p{N}]/u.test(text.slice(index, cut)))?.index ?? 0;
}

export const DISOBEDIENT: Readonly<Record<string, Disobey>> = {
  'restarts from the beginning': (whole) => whole,
  'restarts at a sentence': (whole, cut, dice) => whole.slice(sentenceStart(whole, cut, dice)),
  'begins its sentence again': (whole, cut) => whole.slice(ownStart(whole, cut)),
  'restarts, and drifts': (whole, cut, dice) =>
    drifted(whole.slice(0, cut), 0.15, dice) + whole.slice(cut),
  'restarts at a sentence, and drifts': (whole, cut, dice) =>
    drifted(whole.slice(sentenceStart(whole, cut, dice), cut), 0.15, dice) + whole.slice(cut),
  'speaks of itself': (whole, cut, dice) => pick(PREAMBLES, dice) + whole.slice(cut),
  'speaks of itself, and restarts': (whole, _cut, dice) => pick(PREAMBLES, dice) + whole,
  'restarts in a block or a quotation': (whole, _cut, dice) =>
    pick(['```\n', '> ', '# Answer\n\n', '"', '```markdown\n', '**'], dice) + whole,
  paraphrases: (whole, cut, dice) => drifted(whole.slice(0, cut), 0.35, dice) + whole.slice(cut),
};
/** Lists only texts that no line of another says, so that a place is unambiguous. */
export const DISOBEYED = [
  'documents',
  'source code',
  'chinese',
  'recorded answers',
  'dialogue',
  'a list',
];
