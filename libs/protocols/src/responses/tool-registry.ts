import { createHash } from 'node:crypto';
import { list, nonEmpty, record, text, wordOf } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { unsupported } from '../errors/unsupported.ts';

/** Chat and messages accept function names up to this length. */
const NAME_LENGTH_MAX = 64;
const SEPARATOR = '__';

/** Describes a tool of a /v1/responses request with the one flat name by which an upstream knows it. */
export interface RegisteredTool {
  flatName: string;
  kind: 'function' | 'custom';
  name: string;
  namespace: string | null;
  definition: JsonRecord;
}

/** Returns all tools of a request. Codex groups them in namespaces, which neither chat nor messages have. It throws `InvalidRequest` for hosted tools. */
export function registerTools(tools: unknown): RegisteredTool[] {
  return list(tools).flatMap((item, index) => {
    const tool = record(item);
    const param = `tools[${index}]`;
    if (tool['type'] !== 'namespace') return [registered(tool, null, param)];
    const namespace = text(tool['name']) ?? '';
    return list(tool['tools']).map((inner, at) =>
      registered(record(inner), namespace, `${param}.tools[${at}]`),
    );
  });
}

function registered(tool: JsonRecord, namespace: string | null, param: string): RegisteredTool {
  const type = tool['type'] ?? 'function';
  if (type !== 'function' && type !== 'custom')
    throw unsupported(`a tool of type "${wordOf(type)}"`, `${param}.type`);
  const name = text(tool['name']) ?? '';
  return { flatName: flatName(name, namespace), kind: type, name, namespace, definition: tool };
}

/** Returns the flat name, also for calls in the history whose tools may no longer be offered. A long name ends in a hash, so that two of them stay distinct. */
export function flatName(name: string, namespace: string | null): string {
  if (namespace === null || namespace === '') return name;
  const joined = namespace.endsWith(SEPARATOR) ? namespace + name : namespace + SEPARATOR + name;
  if (joined.length <= NAME_LENGTH_MAX) return joined;
  const hash = createHash('sha256').update(joined).digest('hex').slice(0, 12);
  return `${joined.slice(0, NAME_LENGTH_MAX - hash.length - 1)}_${hash}`;
}

/** Returns the tool as a chat tool. A custom tool takes free text, so it becomes a function with the one argument `input`. */
export function chatToolOf({ flatName: name, kind, definition }: RegisteredTool): JsonRecord {
  const description = nonEmpty(definition['description']);
  const parameters =
    kind === 'custom'
      ? {
          type: 'object',
          properties: { input: { type: 'string' } },
          required: ['input'],
          additionalProperties: false,
        }
      : definition['parameters'];
  const strict = kind === 'function' && definition['strict'] === true ? { strict: true } : {};
  return {
    type: 'function',
    function: {
      name,
      ...(description === null ? {} : { description }),
      ...(parameters ? { parameters } : {}),
      ...strict,
    },
  };
}
