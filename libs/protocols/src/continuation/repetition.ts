import { hasLetters, isWord, placesOf, type Token } from './tokens.ts';

/** Tokens that the text begins with: at once, and behind other words. */
const RESTART = 3;
const RESTART_LATER = 7;
/** Words of the beginning that are compared, and the length of a place they are compared with, which has words more or less. */
const SAID = 24;
const PLACE = 36;
/** Words that a place near the end of the text is compared with at least. */
const SAID_MIN = 8;
/** Words before the first that is repeated. */
const LEAD = 3;
/** The share of both that is equal in a repetition, and its weight in words that the text has once. */
const SHARE = 0.55;
const WEIGHT = 3;
/** Weights and shares before the seam by which the text follows a place already: next to the seam, and as a part of the share behind it. */
const NEAR_WEIGHT = 0.55;
const BEFORE_SHARE = 0.5;
/** Shares that count as equal. */
const EQUAL = 0.9;
/** Places that are compared word by word. */
const PLACES_MAX = 96;

/** Returns whether the text starts from its beginning at once. */
export function isRestart(had: readonly Token[], said: readonly Token[]): boolean {
  const first = had.slice(0, RESTART);
  return hasLetters(first) && placesOf(had, first).length === 1 && placesOf(said, first)[0] === 0;
}

/** Returns whether the text starts from its beginning behind other words. One that starts so again and again is a list, a table or code. */
export function isRestartLater(had: readonly Token[], said: readonly Token[]): boolean {
  const first = had.slice(0, Math.min(RESTART_LATER, had.length - 1));
  if (first.length < RESTART || !hasLetters(first)) return false;
  return placesOf(had, first).length === 1 && placesOf(said, first).length === 1;
}

interface Match {
  /** The first word of the place that is repeated. */
  readonly from: number;
  readonly share: number;
  readonly weight: number;
}
type Weigh = (word: string) => number;

/**
 * Returns whether the beginning repeats a place of the text, word by word or with changes, and the text's own course does not explain that. It does where the
 * words before the seam follow those before the place, too, or where two places are repeated alike: code, tables and verses do so. A word counts the less, the
 * more often the text or its beginning has it, so that what all lines have in common shows nothing.
 */
export function isRepetition(had: readonly Token[], said: readonly Token[]): boolean {
  const before = wordsOf(had);
  const after = wordsOf(said);
  const weigh = weightsOf(before, after);
  const matches = matchesOf(before, after.slice(0, SAID), weigh);
  const share = matches.reduce((most, match) => Math.max(most, match.share), 0);
  const best = matches.filter((match) => match.share >= share * EQUAL);
  const isStrong = best.some((match) => match.share === share && match.weight >= WEIGHT);
  if (share < SHARE || !isStrong) return false;
  const isTwice = best.some(
    ({ from }) => from - (best[0]?.from ?? 0) >= PLACE / 2 && from + PLACE / 2 < before.length,
  );
  return !isTwice && !best.some(({ from }) => isFollowed(before, { from, share, weigh }));
}

function wordsOf(tokens: readonly Token[]): string[] {
  return tokens.filter(isWord).map(({ word }) => word);
}

function weightsOf(before: readonly string[], after: readonly string[]): Weigh {
  const [had, said] = [countsOf(before), countsOf(after)];
  return (word) => 1 / Math.max(had.get(word) ?? 1, said.get(word) ?? 1);
}

function countsOf(words: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** Returns the places that are repeated from the first words on, in their order. */
function matchesOf(before: readonly string[], after: readonly string[], weigh: Weigh): Match[] {
  return richPlaces(before, after, weigh).flatMap((at) => {
    // Behind the end of the text the beginning says what is new.
    const words = after.slice(0, Math.max(before.length - at, SAID_MIN));
    const place = before.slice(at, at + PLACE);
    const { weight, pairs } = commonOf(words, place, weigh);
    const [first, last] = [pairs[0], pairs.at(-1)];
    if (!first || !last || first.word > LEAD || at + first.place < first.word) return [];
    const repeated = place.slice(Math.max(0, first.place - first.word), last.place + 1);
    const share = (2 * weight) / (sumOf(words, weigh) + sumOf(repeated, weigh));
    return [{ from: at + first.place, share, weight }];
  });
}

/** Returns the places that have the weight of a repetition in whatever order, the richest where they are many. */
function richPlaces(before: readonly string[], after: readonly string[], weigh: Weigh): number[] {
  const said = new Set(after);
  const gains = before.map((word) => (said.has(word) ? weigh(word) : 0));
  const found: { at: number; sum: number }[] = [];
  let sum = gains.slice(0, PLACE).reduce((all, gain) => all + gain, 0);
  for (const [at, gain] of gains.entries()) {
    if (gain > 0 && sum >= WEIGHT) found.push({ at, sum });
    sum += (gains[at + PLACE] ?? 0) - gain;
  }
  const richest = found.toSorted((one, other) => other.sum - one.sum).slice(0, PLACES_MAX);
  return richest.map(({ at }) => at).toSorted((one, other) => one - other);
}

/** The indexes of one word in both. */
interface Pair {
  readonly word: number;
  readonly place: number;
}

/** Returns the longest common subsequence by weight. */
function commonOf(
  words: readonly string[],
  place: readonly string[],
  weigh: Weigh,
): { weight: number; pairs: Pair[] } {
  const width = place.length + 1;
  const weights = new Float64Array((words.length + 1) * width);
  const weightAt = (word: number, at: number): number => weights[word * width + at] ?? 0;
  for (let row = words.length - 1; row >= 0; row -= 1)
    for (let column = place.length - 1; column >= 0; column -= 1) {
      const word = words[row] ?? '';
      const joined = word === place[column] ? weightAt(row + 1, column + 1) + weigh(word) : 0;
      weights[row * width + column] = Math.max(
        joined,
        weightAt(row + 1, column),
        weightAt(row, column + 1),
      );
    }
  const pairs: Pair[] = [];
  for (let row = 0, column = 0; weightAt(row, column) > 0;) {
    if (weightAt(row, column + 1) === weightAt(row, column)) column += 1;
    else if (weightAt(row + 1, column) === weightAt(row, column)) row += 1;
    else pairs.push({ word: row++, place: column++ });
  }
  return { weight: weightAt(0, 0), pairs };
}

/** Returns whether the words before the seam follow those before the place. */
function isFollowed(
  before: readonly string[],
  { from, share, weigh }: { from: number; share: number; weigh: Weigh },
): boolean {
  let near = 0;
  for (let back = 1; back <= from && before[from - back] === before.at(-back); back += 1)
    near += weigh(before[from - back] ?? '');
  if (near >= NEAR_WEIGHT) return true;
  if (from === 0) return false;
  const tail = before.slice(-Math.min(SAID, from));
  const { weight } = commonOf(tail, before.slice(Math.max(0, from - PLACE), from), weigh);
  return weight / sumOf(tail, weigh) >= share * BEFORE_SHARE;
}

function sumOf(words: readonly string[], weigh: Weigh): number {
  return words.reduce((sum, word) => sum + weigh(word), 0);
}
