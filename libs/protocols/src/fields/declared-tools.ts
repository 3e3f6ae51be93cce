import { isRecord, record } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';

/** Describes a tool that a request offers to its model, and its position. */
export interface DeclaredTool {
  tool: JsonRecord;
  path: readonly string[];
}

/** Items in these lists may offer tools of their own: `additional_tools`, `tool_search_output`. */
const ITEM_LISTS = ['input', 'items'];

/** Returns the tools of `tools`, of items that offer some, and of message blocks that add one (`tool_addition`), including those in namespaces. */
export function declaredTools(body: JsonRecord): readonly DeclaredTool[] {
  const found: DeclaredTool[] = [];
  addTools(body['tools'], TOOLS, found);
  for (const name of ITEM_LISTS) addToolsOfItems(body[name], name, found);
  addToolsOfMessages(body['messages'], found);
  return found;
}

const TOOLS = ['tools'];

function addTools(tools: unknown, path: readonly string[], found: DeclaredTool[]): void {
  if (!Array.isArray(tools)) return;
  tools.forEach((tool: unknown, at) => {
    if (isRecord(tool)) addTool(tool, [...path, String(at)], found);
  });
}

function addTool(tool: JsonRecord, path: readonly string[], found: DeclaredTool[]): void {
  found.push({ tool, path });
  addTools(tool['tools'], [...path, 'tools'], found);
}

/** The value may be a list of a million tokens. */
function addToolsOfItems(items: unknown, name: string, found: DeclaredTool[]): void {
  if (!Array.isArray(items)) return;
  for (let at = 0; at < items.length; at += 1) {
    const item: unknown = items[at];
    if (isRecord(item) && Array.isArray(item['tools']))
      addTools(item['tools'], [name, String(at), 'tools'], found);
  }
}

function addToolsOfMessages(messages: unknown, found: DeclaredTool[]): void {
  if (!Array.isArray(messages)) return;
  for (let at = 0; at < messages.length; at += 1) {
    const blocks = record(messages[at])['content'];
    if (!Array.isArray(blocks)) continue;
    for (let place = 0; place < blocks.length; place += 1) {
      const { definition } = record(record(blocks[place])['tool']);
      if (!isRecord(definition)) continue;
      const path = ['messages', String(at), 'content', String(place), 'tool', 'definition'];
      addTool(definition, path, found);
    }
  }
}
