import { isRecord } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';

/** Members of a message or delta that hold no words of the model: names, marks, what its tools have found, sound and pictures. */
const WORDLESS: ReadonlySet<string> = new Set([
  'annotations',
  'b64_json',
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

/** The text of members by whatever name: what an upstream calls by a name that is not known here is delivered too, and must not be free. */
function otherText(value: unknown, depth = 0): string {
  if (typeof value === 'string') return NO_WORDS.test(value) ? '' : value;
  if (depth >= DEPTH_MAX) return '';
  if (Array.isArray(value)) return value.map((item) => otherText(item, depth + 1)).join('');
  return isRecord(value) ? ofMembers(value, depth) : '';
}

function ofMembers(members: JsonRecord, depth: number): string {
  return Object.entries(members)
    .map(([name, item]) => (WORDLESS.has(name) ? '' : otherText(item, depth + 1)))
    .join('');
}

/** What is known as text, unless there is more under other names: vendors repeat text there, so the two are not added. */
export function knownOrOther(
  known: string,
  holder: JsonRecord,
  names: ReadonlySet<string>,
): string {
  const further = Object.entries(holder).filter(([name]) => !names.has(name));
  if (further.length === 0) return known;
  const other = otherText(Object.fromEntries(further));
  return other.length > known.length ? other : known;
}
