import { record, records, text } from '../../json/json-guard.ts';
import type { JsonRecord } from '../../json/json-guard.ts';

const TOOL_CALLS: ReadonlySet<unknown> = new Set(['function_call', 'custom_tool_call']);

/** A call of one of the client's tools. */
export function isToolCall({ type }: JsonRecord): boolean {
  return TOOL_CALLS.has(type);
}

/** Returns the text that the model generated for one whole output item. Results of the provider's tools are input, not output. */
export function itemText(item: JsonRecord): string {
  const said = [...records(item['content']), ...records(item['summary'])]
    .map((part) => (text(part['text']) ?? '') + (text(part['refusal']) ?? ''))
    .join('');
  const called = text(item['arguments']) ?? text(item['input']) ?? '';
  return (isToolCall(item) ? (text(item['name']) ?? '') : '') + said + called;
}

/** Pieces of generated text come in events whose type ends so; sound comes as base64 and is no text. */
export function deltaText({ type, delta }: JsonRecord): string {
  const kind = text(type) ?? '';
  return kind.endsWith('.delta') && kind !== 'response.audio.delta' ? (text(delta) ?? '') : '';
}

/** A piece of reasoning or of its summary. */
export function isReasoning({ type }: JsonRecord): boolean {
  return (text(type) ?? '').startsWith('response.reasoning');
}

/** The response that an event carries; empty for one that carries none. */
export function responseOf(event: JsonRecord): JsonRecord {
  return record(event['response']);
}
