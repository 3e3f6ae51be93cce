import { record, records, text } from '../../json/json-guard.ts';
import type { JsonRecord } from '../../json/json-guard.ts';

const TOOL_CALLS: ReadonlySet<unknown> = new Set(['function_call', 'custom_tool_call']);

/** Returns whether the item is a call of one of the client's tools. */
export function isToolCall({ type }: JsonRecord): boolean {
  return TOOL_CALLS.has(type);
}

/** Returns the text that the model generated for one whole output item. The results of the provider's tools are input, not output. */
export function itemText(item: JsonRecord): string {
  const said = [...records(item['content']), ...records(item['summary'])]
    .map((part) => (text(part['text']) ?? '') + (text(part['refusal']) ?? ''))
    .join('');
  const called = text(item['arguments']) ?? text(item['input']) ?? '';
  return (isToolCall(item) ? (text(item['name']) ?? '') : '') + said + called;
}

/** Returns the generated text of an event whose type ends with these words; audio comes as base64 and is not text. */
export function deltaText({ type, delta }: JsonRecord): string {
  const kind = text(type) ?? '';
  return kind.endsWith('.delta') && kind !== 'response.audio.delta' ? (text(delta) ?? '') : '';
}

/** Returns whether the event carries a piece of reasoning or of its summary. */
export function isReasoning({ type }: JsonRecord): boolean {
  return (text(type) ?? '').startsWith('response.reasoning');
}

/** Returns the response in an event; an empty object when it has none. */
export function responseOf(event: JsonRecord): JsonRecord {
  return record(event['response']);
}
