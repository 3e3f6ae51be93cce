import { record, records, text } from '../../json/json-guard.ts';
import type { JsonRecord } from '../../json/json-guard.ts';
import { namedEvent } from '../../sse/sse-format.ts';
import type { TypedRecord } from '../../sse/sse-format.ts';

/** Converts a whole message to the event stream with the same content; an error body becomes an error event. */
export function messageEvents(message: JsonRecord): string {
  if (Array.isArray(message['content']))
    return messageBlockEvents(message).map(namedEvent).join('');
  return namedEvent(
    message['type'] === 'error'
      ? { ...message, type: 'error' }
      : { type: 'error', error: message['error'] ?? message },
  );
}

export function messageBlockEvents(message: JsonRecord): TypedRecord[] {
  const {
    stop_reason,
    stop_sequence = null,
    stop_details,
    container,
    content,
    usage,
    ...rest
  } = message;
  const start = {
    ...rest,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...record(usage), output_tokens: 0 },
  };
  const extras = {
    ...(stop_details === undefined ? {} : { stop_details }),
    ...(container === undefined ? {} : { container }),
  };
  return [
    { type: 'message_start', message: start },
    ...records(content).flatMap(blockEvents),
    {
      type: 'message_delta',
      delta: { stop_reason: stop_reason ?? 'end_turn', stop_sequence, ...extras },
      usage: usage ?? { output_tokens: 0 },
    },
    { type: 'message_stop' },
  ];
}

function blockEvents(block: JsonRecord, index: number): TypedRecord[] {
  const { empty, deltas } = unfold(block);
  return [
    { type: 'content_block_start', index, content_block: empty },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

/** Blocks that clients build from deltas start empty; all others are complete in their start event. */
function unfold(block: JsonRecord): { empty: JsonRecord; deltas: JsonRecord[] } {
  const type = text(block['type']);
  if (type === 'text' || type === 'refusal')
    return {
      empty: { ...block, text: '' },
      deltas: [{ type: 'text_delta', text: block['text'] ?? '' }],
    };
  if (type === 'tool_use' || type === 'server_tool_use') {
    return {
      empty: { ...block, input: {} },
      deltas: [{ type: 'input_json_delta', partial_json: JSON.stringify(block['input'] ?? {}) }],
    };
  }
  if (type !== 'thinking') return { empty: block, deltas: [] };
  const signature = text(block['signature']);
  const deltas = [
    { type: 'thinking_delta', thinking: block['thinking'] ?? '' },
    ...(signature === null ? [] : [{ type: 'signature_delta', signature }]),
  ];
  return { empty: { ...block, thinking: '', signature: '' }, deltas };
}
