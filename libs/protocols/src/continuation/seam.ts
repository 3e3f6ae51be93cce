/** Limits the white space that may be before the first word. */
const LEAD_MAX = 256;

/** `more`: the beginning says too little yet. `true`: it continues the text, less its first `overlap` characters, which the client has. */
export type Seam = { kind: 'more' } | { kind: 'false' } | { kind: 'true'; overlap: number };

const MORE: Seam = { kind: 'more' };
const FALSE: Seam = { kind: 'false' };

/**
 * Judges the beginning of a continuation: it is true where it repeats the anchor, character by character, but for white space before the first word.
 * `isWhole`: nothing follows the beginning.
 */
export function judgeSeam(anchor: string, beginning: string, isWhole: boolean): Seam {
  const said = beginning.trimStart();
  const lead = beginning.length - said.length;
  const own = anchor.trimStart();
  const words = own.trimEnd();
  if (lead > LEAD_MAX || !said.startsWith(words.slice(0, said.length))) return FALSE;
  if (said.length < words.length) return isWhole ? FALSE : MORE;
  const overlap = spacesOf(own.slice(words.length), said.slice(words.length), isWhole);
  if (typeof overlap !== 'number') return overlap;
  return { kind: 'true', overlap: lead + words.length + overlap };
}

/** Returns how many of the spaces behind the words the client has. Other spaces than it has are another text. */
function spacesOf(had: string, rest: string, isWhole: boolean): number | Seam {
  const left = rest.trimStart();
  const said = rest.slice(0, rest.length - left.length);
  if (said.startsWith(had)) return had.length;
  if (!had.startsWith(said)) return FALSE;
  if (left === '') return isWhole ? said.length : MORE;
  return said === '' ? FALSE : said.length;
}
