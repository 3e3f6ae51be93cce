import { isRecord } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { DIALECTS } from './dialects/dialects.ts';
import type { FieldsOf } from './dialects/dialect.ts';
import { isPlainLabel } from './plain-labels.ts';
import { FIELD_TABLES } from './client-bodies.ts';
import type { DroppedField } from './found-field.ts';
import { SERVER_TOOL_FIELDS } from './tool-tables.ts';

/** Says which part of a value passes: all of it, labels, or the listed members of an object. */
type Passes = 'whole' | 'labels' | Map<string, Passes>;

const PRICED_FIELDS = [
  ...Object.keys(SERVER_TOOL_FIELDS),
  ...Object.entries(FIELD_TABLES.chat).flatMap(([name, role]) => (role === 'tier' ? [name] : [])),
];

/** Holds the fields of a request that pass, by protocol. */
const TABLES = new Map<FieldsOf, Map<string, Passes>>();

/** An object that would lose more members is dropped completely; no real object has as many unknown ones. */
const MEMBERS_MAX = 100;

/**
 * Returns the fields of a request that no dialect knows, for an upstream that takes only known ones. Tiers and provider tools pass here, because
 * their price decides.
 */
export function unknownFields({
  protocol,
  body,
}: {
  protocol: FieldsOf;
  body: JsonRecord;
}): DroppedField[] {
  let table = TABLES.get(protocol);
  if (!table) TABLES.set(protocol, (table = tableOf(protocol)));
  return unknownIn(body, table, []);
}

/** Returns true for a field that is dropped, by itself or with a containing object. */
export function isDropped(path: readonly string[], dropped: readonly DroppedField[]): boolean {
  return dropped.some(({ path: whole }) => whole.every((name, at) => path[at] === name));
}

function unknownIn(
  object: JsonRecord,
  table: ReadonlyMap<string, Passes>,
  path: readonly string[],
): DroppedField[] {
  return Object.entries(object).flatMap(([name, value]) => {
    const passes = table.get(name);
    if (passes === 'whole') return [];
    const here = [...path, name];
    if (passes === undefined || Array.isArray(value)) return [{ path: here }];
    if (!isRecord(value)) return [];
    const inner = passes === 'labels' ? unknownLabels(value, here) : unknownIn(value, passes, here);
    return inner.length > MEMBERS_MAX ? [{ path: here }] : inner;
  });
}

function unknownLabels(labels: JsonRecord, path: readonly string[]): DroppedField[] {
  return Object.entries(labels)
    .filter(([name, value]) => !isPlainLabel(name, value))
    .map(([name]) => ({ path: [...path, name] }));
}

/** Requests of Gemini are read as requests of these. */
const TWINS = { generate: 'chat', embed: 'embeddings' } as const;

function tableOf(protocol: FieldsOf): Map<string, Passes> {
  const table = new Map<string, Passes>();
  const own = TWINS[protocol as keyof typeof TWINS] ?? protocol;
  for (const { fields } of DIALECTS)
    for (const path of fields[own] ?? []) place(table, path.split('.'));
  if (protocol !== 'conversations') for (const name of PRICED_FIELDS) table.set(name, 'whole');
  return table;
}

function place(table: Map<string, Passes>, [name = '', ...rest]: readonly string[]): void {
  const known = table.get(name);
  if (rest.length === 0) table.set(name, 'whole');
  else if (rest[0] === '*') table.set(name, 'labels');
  else {
    const members = known instanceof Map ? known : new Map<string, Passes>();
    if (known === undefined) table.set(name, members);
    place(members, rest);
  }
}
