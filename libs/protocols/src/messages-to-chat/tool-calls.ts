import { isRecord, nonEmpty, parseJson, record, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';

/** A tool call while it streams in. */
export interface StreamedTool {
  /** The upstream's `index`; null where it gives none. */
  readonly index: number | null;
  readonly id: string | null;
  readonly name: string;
  /** Arguments so far. They are joined when they are read: reading them at each delta would take the square of their length. */
  readonly args: string;
  /** Those that the client does not have. */
  readonly unsent: string;
  /** Returns whether the last character that is no blank is a closing brace. */
  readonly endsInBrace: boolean;
  /** The content block it is sent in; null while it waits its turn. */
  readonly block: number | null;
  readonly isClosed: boolean;
}

/**
 * The tools after one more delta. Deltas belong to a tool by `index`, else by id, else to the last one. A repeated id or name is no new tool
 * (OmniRoute#682); a new id with a name under an index whose arguments are whole is one (Gemini's compatible endpoint numbers all of them 0).
 */
export function withToolDelta(
  tools: readonly StreamedTool[],
  delta: JsonRecord,
): readonly StreamedTool[] {
  const fn = record(delta['function']);
  const index = typeof delta['index'] === 'number' ? delta['index'] : null;
  const id = nonEmpty(delta['id']);
  const name = nonEmpty(fn['name']);
  const args = argumentsText(fn['arguments']);
  const at = findTool(tools, { index, id, name, args });
  const known = tools[at];
  const end = args.trimEnd();
  if (!known)
    return [
      ...tools,
      {
        ...{ index, id, name: name ?? '', args, unsent: args },
        ...{ endsInBrace: end.endsWith('}'), block: null, isClosed: false },
      },
    ];
  if (known.isClosed) return tools;
  return tools.with(at, {
    ...known,
    id: known.id ?? id,
    name: known.name || (name ?? ''),
    args: known.args + args,
    unsent: known.unsent + args,
    endsInBrace: end === '' ? known.endsInBrace : end.endsWith('}'),
  });
}

/** Whole arguments: nothing but blanks can follow the closing brace of an object. */
export function isComplete({ args, endsInBrace }: StreamedTool): boolean {
  return endsInBrace && isRecord(parseJson(args));
}

function findTool(
  tools: readonly StreamedTool[],
  {
    index,
    id,
    name,
    args,
  }: { index: number | null; id: string | null; name: string | null; args: string },
): number {
  if (index !== null) {
    const at = tools.findLastIndex((tool) => tool.index === index);
    const known = tools[at];
    return known !== undefined && name !== null && isAnother(known, id, args) ? -1 : at;
  }
  if (id !== null) return tools.findLastIndex((tool) => tool.id === id);
  const last = tools.at(-1);
  const isNext = last === undefined || (name !== null && (last.name !== name || isComplete(last)));
  return isNext ? -1 : tools.length - 1;
}

/** Under the index of a known tool: a new id once the known one's arguments are whole or not begun, or, when no call has an id, more arguments after complete ones. */
function isAnother(known: StreamedTool, id: string | null, args: string): boolean {
  if (id === null || known.id === null)
    return id === null && known.id === null && args.trim() !== '' && isComplete(known);
  return known.id !== id && (known.args === '' || isComplete(known));
}

/** Some vendors send arguments as an object, or null. */
function argumentsText(value: unknown): string {
  return text(value) ?? (isRecord(value) ? JSON.stringify(value) : '');
}
