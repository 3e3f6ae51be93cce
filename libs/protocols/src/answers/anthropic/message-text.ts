import { text } from '../../json/json-guard.ts';
import type { JsonRecord } from '../../json/json-guard.ts';

/** Returns the text that the model generated for one whole content block. The results of server tools are input, not output. */
export function messageText(block: JsonRecord): string {
  const type = text(block['type']) ?? '';
  if (type.endsWith('tool_use'))
    return (text(block['name']) ?? '') + JSON.stringify(block['input'] ?? {});
  if (type === 'text') return text(block['text']) ?? '';
  if (type === 'compaction') return text(block['content']) ?? '';
  return type === 'thinking' ? (text(block['thinking']) ?? '') : '';
}

/** Returns the calls of the client's tools in a whole answer. */
export function messageCalls(content: readonly JsonRecord[]): JsonRecord[] {
  return content.filter(({ type }) => type === 'tool_use');
}
