import { isRecord } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';

/** Members of a message or delta that hold no words of the model: names, marks, what its tools have found, sound and pictures. */
const WORDLESS: ReadonlySet<string> = new Set([
  'annotations',
  'b64_json',
  'channel',
  'citation',
  'citations',
  'data',
  'finish_reason',
  'format',
  'id',
  'name',
  'native_finish_reason',
  'object',
  'phase',
  'provider_specific_fields',
  'role',
  'signature',
  'status',
  'stop_reason',
  'type',
  'url',
]);
/** Base64 of signatures and of what is encrypted. */
const NO_WORDS = /^[\w+/=-]{256,}$/;
const DEPTH_MAX = 8;
/** Each text is looked for in all the others; of more than so many the longer sum counts. */
const COMPARED_MAX = 64;

/** Texts by whatever name: what an upstream calls by a name that is not known here is delivered too, and must not be free. */
function otherTexts(value: unknown, depth = 0): string[] {
  if (typeof value === 'string') return value === '' || NO_WORDS.test(value) ? [] : [value];
  if (depth >= DEPTH_MAX) return [];
  if (Array.isArray(value)) return value.flatMap((item) => otherTexts(item, depth + 1));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, item]) =>
    WORDLESS.has(name) ? [] : otherTexts(item, depth + 1),
  );
}

/** Text under known names, and text under other names beside it. Vendors repeat text there: what is in the text already counts once. */
export function knownOrOther(
  known: string,
  holder: JsonRecord,
  names: ReadonlySet<string>,
): string {
  const others = Object.keys(holder)
    .filter((name) => !names.has(name) && !WORDLESS.has(name))
    .flatMap((name) => otherTexts(holder[name], 1));
  if (others.length === 0) return known;
  if (others.length > COMPARED_MAX) return longer(known, others.join(''));
  const joined = others.join('');
  // A text that is repeated in pieces is in the known one as a whole.
  if (known.includes(joined)) return known;
  return others.reduce((all, other) => (all.includes(other) ? all : all + other), known);
}

function longer(one: string, other: string): string {
  return other.length > one.length ? other : one;
}
