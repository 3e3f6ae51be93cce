import { NO_USAGE, type TokenUsage } from '@tollgate/contracts';
import { parseJson, record, text, type JsonRecord } from '../json/json-guard.ts';
import type { MessagesDialect } from './dialect.ts';

/** Returns the message that a stream of the same answer would have produced. */
export function wholeMessage<State>(
  answer: JsonRecord,
  { step, finish, eventsOf }: MessagesDialect<State>,
  { start, usage }: { start: State; usage: TokenUsage | null },
): JsonRecord {
  let state = start;
  const events: JsonRecord[] = [];
  for (const event of eventsOf(answer)) {
    const [next, made] = step(state, event);
    state = next;
    events.push(...made);
  }
  events.push(...finish(state, { usage: usage ?? NO_USAGE, isCutShort: false }));
  return messageOf(events);
}

function messageOf(events: readonly JsonRecord[]): JsonRecord {
  const content: Record<string, unknown>[] = [];
  let message: JsonRecord = {};
  let json = '';
  for (const event of events) {
    const block = content.at(-1);
    if (event['type'] === 'message_start') message = record(event['message']);
    else if (event['type'] === 'content_block_start') {
      content.push({ ...record(event['content_block']) });
      json = '';
    } else if (event['type'] === 'content_block_delta')
      json += addDelta(block, record(event['delta']));
    else if (event['type'] === 'content_block_stop' && json !== '' && block)
      block['input'] = record(parseJson(json));
    else if (event['type'] === 'message_delta')
      message = { ...message, ...record(event['delta']), usage: event['usage'] };
  }
  return { ...message, content };
}

/** Returns the piece of a call's arguments in the delta. */
function addDelta(block: Record<string, unknown> | undefined, delta: JsonRecord): string {
  for (const field of ['text', 'thinking', 'signature'])
    if (block && typeof delta[field] === 'string')
      block[field] = (text(block[field]) ?? '') + delta[field];
  return text(delta['partial_json']) ?? '';
}
