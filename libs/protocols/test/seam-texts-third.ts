import { createHash } from 'node:crypto';

/** Makes a third set of whole answers and of what a second model makes of them, from words and forms that the other two do not have. */
export type Dice = () => number;

/** Returns numbers from 0 to 1 that a name decides. */
export function diceOf(name: string): Dice {
  let count = 0;
  return () => {
    count += 1;
    return createHash('sha256').update(`${name} ${count}`).digest().readUInt32BE(0) / 2 ** 32;
  };
}

const pick = <T>(list: readonly T[], dice: Dice): T => list[Math.floor(dice() * list.length)] as T;
const between = (least: number, most: number, dice: Dice): number =>
  least + Math.floor(dice() * (most - least + 1));
const many = (count: number, each: (at: number) => string): string[] =>
  Array.from({ length: count }, (_, at) => each(at));

const SYLLABLES: Readonly<Record<string, readonly string[]>> = {
  latin: 'ka lo mi re sun ta ver zen qui pro str ei dam ol nu fer gi ho'.split(' '),
  umlaut: 'grö ße tür fäl ñan çe øl åk ší żó ëre ïn'.split(' '),
  cyrillic: 'ка ло ми ре сун та вер зен про стр дам ол ну фер'.split(' '),
  greek: 'κα λο μι ρε τα βερ προ στρ δαμ ολ νυ φερ'.split(' '),
  arabic: 'كا لو مي ري تا ور زن قي بر دا نو في'.split(' '),
  hangul: [...'가나다라마바사아자차카타파하'],
  kana: [...'かきくけこさしすせそたちつてと'],
  han: [...'的一是不了在人有我他这为之大来以个中上们'],
  thai: [...'กขคงจชดตถทนบปผพมยรลวสหอ'],
};
const UNSPACED = new Set(['kana', 'han', 'thai']);

function word(script: string, dice: Dice): string {
  return many(between(1, 4, dice), () => pick(SYLLABLES[script] ?? [], dice)).join('');
}

function words(script: string, count: number, dice: Dice): string {
  return many(count, () => word(script, dice)).join(UNSPACED.has(script) ? '' : ' ');
}

function sentence(script: string, dice: Dice): string {
  const text = words(script, between(4, 15, dice), dice);
  return text.charAt(0).toUpperCase() + text.slice(1) + pick(['.', '.', '!', '?', '…'], dice);
}

const prose =
  (script: string) =>
  (dice: Dice): string =>
    many(between(5, 14, dice), () =>
      many(between(1, 5, dice), () => sentence(script, dice)).join(UNSPACED.has(script) ? '' : ' '),
    ).join('\n\n');

/** Writes lines that return again and again. */
function villanelle(dice: Dice): string {
  const [first, third] = [sentence('latin', dice), sentence('latin', dice)];
  return many(6, (verse) =>
    [
      verse === 0 ? first : sentence('latin', dice),
      sentence('latin', dice),
      verse % 2 ? first : third,
    ].join('\n'),
  ).join('\n\n');
}

function song(dice: Dice): string {
  const chorus = many(4, () => sentence('umlaut', dice)).join('\n');
  return many(4, () => `${many(4, () => sentence('umlaut', dice)).join('\n')}\n\n${chorus}`).join(
    '\n\n',
  );
}

function csv(dice: Dice): string {
  return many(between(20, 60, dice), (row) =>
    [
      1_000 + row,
      pick(['open', 'closed', 'open'], dice),
      between(0, 9, dice),
      word('latin', dice),
    ].join(','),
  ).join('\n');
}

function yaml(dice: Dice): string {
  return many(between(6, 20, dice), () =>
    [
      `- name: ${word('latin', dice)}`,
      '  enabled: true',
      `  replicas: ${between(1, 3, dice)}`,
      '  ports:',
      '    - 8080',
    ].join('\n'),
  ).join('\n');
}

function python(dice: Dice): string {
  return many(between(5, 14, dice), () => {
    const name = word('latin', dice);
    return `def get_${name}(self):\n    if self._${name} is None:\n        self._${name} = self.load("${name}")\n    return self._${name}\n`;
  }).join('\n');
}

function nested(dice: Dice): string {
  return many(between(4, 9, dice), (at) =>
    [
      `${at + 1}. **${word('latin', dice)}**`,
      ...many(3, () => `   - ${words('latin', 4, dice)}`),
    ].join('\n'),
  ).join('\n');
}

function html(dice: Dice): string {
  return `<ul>\n${many(between(10, 30, dice), () => `  <li class="item"><a href="/${word('latin', dice)}">${word('latin', dice)}</a></li>`).join('\n')}\n</ul>`;
}

function figures(dice: Dice): string {
  return many(between(15, 40, dice), () =>
    many(6, () => String(between(0, 999, dice)).padStart(4)).join(''),
  ).join('\n');
}

function emoji(dice: Dice): string {
  return many(
    between(10, 30, dice),
    () => `${pick(['🎉', '👩‍👩‍👧', '🇨🇭', '✅', '𝒳'], dice)} ${words('latin', 3, dice)}`,
  ).join('\n');
}

export const WHOLE_THIRD: Readonly<Record<string, (dice: Dice) => string>> = {
  ...Object.fromEntries(Object.keys(SYLLABLES).map((script) => [`${script} prose`, prose(script)])),
  villanelle,
  song,
  csv,
  yaml,
  python,
  nested,
  html,
  figures,
  emoji,
};

type Disobey = (whole: string, cut: number, dice: Dice) => string;

/** Writes self-talk in words of no language. */
const babble = (dice: Dice): string => {
  const script = pick(Object.keys(SYLLABLES), dice);
  const text = pick([sentence, (name: string, with_: Dice) => words(name, 3, with_)], dice)(
    script,
    dice,
  );
  return `${text}${pick([' ', '\n\n', ': ', ':\n', '\n---\n'], dice)}`;
};

const wordAt = (whole: string, from: number): number => {
  const next = whole.slice(from).search(/(?<=[^\p{L}\p{N}])[\p{L}\p{N}]/u);
  return next < 0 ? 0 : from + next;
};

/** Writes another model's words for the same: each word is another one with the share. */
const reworded = (text: string, share: number, dice: Dice): string =>
  text.replaceAll(/[\p{L}\p{M}]+/gu, (each) => (dice() < share ? word('latin', dice) : each));

export const DISOBEDIENT_THIRD: Readonly<Record<string, Disobey>> = {
  'starts again': (whole) => whole,
  'starts again after white space': (whole) => `\n\n  ${whole}`,
  'starts again at any word': (whole, cut, dice) =>
    whole.slice(wordAt(whole, Math.floor(dice() * cut))),
  'starts again near the cut': (whole, cut, dice) =>
    whole.slice(wordAt(whole, Math.max(0, cut - between(5, 120, dice)))),
  'starts again at any line, and drifts': (whole, cut, dice) => {
    const at = whole.lastIndexOf('\n', Math.floor(dice() * cut)) + 1;
    return reworded(whole.slice(at, cut), 0.2, dice) + whole.slice(cut);
  },
  'starts again, and drifts': (whole, cut, dice) =>
    reworded(whole.slice(0, cut), 0.2, dice) + whole.slice(cut),
  'says it in other words': (whole, cut, dice) =>
    reworded(whole.slice(0, cut), 0.8, dice) + whole.slice(cut),
  'talks of itself': (whole, cut, dice) => babble(dice) + whole.slice(cut),
  'talks of itself, and starts again': (whole, _cut, dice) => babble(dice) + whole,
  'talks of itself in a list or a block of code': (whole, cut, dice) =>
    pick(['```\n', '- ', '# ', '> ', '1. ', '<answer>', '"', '…', '**'], dice) +
    pick([whole, whole.slice(cut)], dice),
  'skips some words': (whole, cut, dice) => whole.slice(wordAt(whole, cut + between(10, 60, dice))),
  'says something else': (_whole, _cut, dice) => prose(pick(Object.keys(SYLLABLES), dice))(dice),
  'says nothing': () => '',
};
