import { isRecord, list, record } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';

/** A tool that a request offers to its model, and where it stands. */
export interface DeclaredTool {
  tool: JsonRecord;
  path: readonly string[];
}

/** Items of a request or a conversation, which may offer tools of their own: `additional_tools`, `tool_search_output`. */
const ITEM_LISTS = ['input', 'items'];

/** The tools of `tools`, of items that offer some, and of blocks of a message that add one (`tool_addition`), those in namespaces too. */
export function declaredTools(body: JsonRecord): DeclaredTool[] {
  return [
    ...toolsIn(body['tools'], ['tools']),
    ...ITEM_LISTS.flatMap((name) => toolsOfItems(body[name], name)),
    ...toolsOfMessages(body['messages']),
  ];
}

function toolsIn(tools: unknown, path: readonly string[]): DeclaredTool[] {
  return list(tools).flatMap((tool, at) =>
    isRecord(tool) ? withInner(tool, [...path, String(at)]) : [],
  );
}

function withInner(tool: JsonRecord, path: readonly string[]): DeclaredTool[] {
  return [{ tool, path }, ...toolsIn(tool['tools'], [...path, 'tools'])];
}

function toolsOfItems(items: unknown, name: string): DeclaredTool[] {
  const found: DeclaredTool[] = [];
  // Lists of a million tokens come here too.
  for (const [at, item] of list(items).entries())
    if (isRecord(item) && Array.isArray(item['tools']))
      found.push(...toolsIn(item['tools'], [name, String(at), 'tools']));
  return found;
}

function toolsOfMessages(messages: unknown): DeclaredTool[] {
  const found: DeclaredTool[] = [];
  for (const [at, message] of list(messages).entries())
    for (const [place, block] of list(record(message)['content']).entries()) {
      const { definition } = record(record(block)['tool']);
      const path = ['messages', String(at), 'content', String(place), 'tool', 'definition'];
      if (isRecord(definition)) found.push(...withInner(definition, path));
    }
  return found;
}
