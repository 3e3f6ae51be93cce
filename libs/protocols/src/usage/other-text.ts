import { isRecord } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';

/** Lists members of a message or delta that contain no text of the model: names, marks, tool findings, audio and images. */
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
/** Matches base64 of signatures and of encrypted content. */
const NO_WORDS = /^[\w+/=-]{256,}$/;
const DEPTH_MAX = 8;
/** Each text is searched in all the others; with more texts than this, the larger sum counts. */
const COMPARED_MAX = 64;

/** Collects texts under any name: text under an unknown name is delivered, too, and must not be free. */
function otherTexts(value: unknown, depth = 0): string[] {
  if (typeof value === 'string') return value === '' || NO_WORDS.test(value) ? [] : [value];
  if (depth >= DEPTH_MAX) return [];
  if (Array.isArray(value)) return value.flatMap((item) => otherTexts(item, depth + 1));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, item]) =>
    WORDLESS.has(name) ? [] : otherTexts(item, depth + 1),
  );
}

/** Returns text under known names, and further text under other names. Vendors repeat text there; repeated text counts once. */
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
  // A text that is repeated in pieces is contained in the known one as a whole.
  if (known.includes(joined)) return known;
  return others.reduce((all, other) => (all.includes(other) ? all : all + other), known);
}

function longer(one: string, other: string): string {
  return other.length > one.length ? other : one;
}
