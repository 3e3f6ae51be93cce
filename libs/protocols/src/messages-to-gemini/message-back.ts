import { NO_USAGE, type TokenUsage } from '@tollgate/contracts';
import { parseJson, record, text, type JsonRecord } from '../json/json-guard.ts';
import { finishGemini, geminiStep, type GeminiState } from './stream-back.ts';

/** A whole answer of Gemini as a message: what a stream of the same answer would have added up to. */
export function toGeminiMessage(
  answer: JsonRecord,
  start: GeminiState,
  usage: TokenUsage | null,
): JsonRecord {
  const [state, events] = geminiStep(start, answer);
  const all = [...events, ...finishGemini(state, { usage: usage ?? NO_USAGE, isCutShort: false })];
  const content: Record<string, unknown>[] = [];
  let message: JsonRecord = {};
  for (const event of all) {
    if (event['type'] === 'message_start') message = record(event['message']);
    else if (event['type'] === 'content_block_start')
      content.push({ ...record(event['content_block']) });
    else if (event['type'] === 'content_block_delta') addDelta(content.at(-1), event['delta']);
    else if (event['type'] === 'message_delta')
      message = { ...message, ...record(event['delta']), usage: event['usage'] };
  }
  return { ...message, content };
}

function addDelta(block: Record<string, unknown> | undefined, value: unknown): void {
  if (!block) return;
  const delta = record(value);
  if (delta['type'] === 'input_json_delta')
    block['input'] = record(parseJson(text(delta['partial_json']) ?? ''));
  for (const field of ['text', 'thinking'])
    if (typeof delta[field] === 'string') block[field] = (text(block[field]) ?? '') + delta[field];
}
