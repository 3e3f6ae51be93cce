import { isRecord, nonEmpty, parseJson, record, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';

/** Holds a tool call while it streams in. */
export interface StreamedTool {
  /** Is the upstream's `index`; null where it gives none. */
  readonly index: number | null;
  readonly id: string | null;
  readonly name: string;
  /** Holds the arguments so far. They are joined when they are read: reading them at each delta would take quadratic time. */
  readonly args: string;
  /** Holds the arguments that the client does not have yet. */
  readonly unsent: string;
  /** Is true when the last non-blank character is a closing brace. */
  readonly endsInBrace: boolean;
  /** Is the content block in which it is sent; null while it waits. */
  readonly block: number | null;
  readonly isClosed: boolean;
}

/**
 * Returns the tools after one more delta. Deltas belong to a tool by `index`, otherwise by id, otherwise to the last one. A repeated id or name is
 * not a new tool (OmniRoute#682). A new id with a name under an index whose arguments are complete is one, because Gemini's compatible endpoint
 * numbers all of them 0.
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

/** Arguments are complete when only blanks can follow the closing brace of an object. */
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

/**
 * Returns whether a delta under a known tool's index begins another tool: it has a new id, and the known one's arguments are complete or empty, or no
 * call has an id and it adds arguments to complete ones.
 */
function isAnother(known: StreamedTool, id: string | null, args: string): boolean {
  if (id === null || known.id === null)
    return id === null && known.id === null && args.trim() !== '' && isComplete(known);
  return known.id !== id && (known.args === '' || isComplete(known));
}

/** Some vendors send arguments as an object, or null. */
function argumentsText(value: unknown): string {
  return text(value) ?? (isRecord(value) ? JSON.stringify(value) : '');
}
