import type { TokenUsage } from '@tollgate/contracts';
import { finishOf, partsOf } from '../answers/gemini/gemini-parts.ts';
import { isRecord, nonEmpty, record, text, type JsonRecord } from '../json/json-guard.ts';
import { messageStart } from '../stream/message-start.ts';
import { refusalDetails } from '../messages-to-chat/message-back.ts';
import { toMessagesUsage } from '../usage/messages-usage.ts';
import { signedToolId } from './signatures.ts';

export interface GeminiState {
  readonly id: string;
  readonly model: string;
  readonly isStarted: boolean;
  readonly blockCount: number;
  readonly open: 'text' | 'thinking' | null;
  readonly toolCount: number;
  readonly finish: ReturnType<typeof finishOf>;
}

export function startGemini(id: string, model: string): GeminiState {
  const counts = { blockCount: 0, toolCount: 0 };
  return { id, model, isStarted: false, open: null, finish: null, ...counts };
}

/** Converts one event of Gemini to the equivalent events of messages. */
export function geminiStep(
  state: GeminiState,
  event: JsonRecord,
): readonly [GeminiState, JsonRecord[]] {
  const events: JsonRecord[] = [];
  let next = started(state, events);
  for (const part of partsOf(event))
    next = isRecord(part['functionCall'])
      ? withCall(next, part, events)
      : withText(next, part, events);
  return [{ ...next, finish: finishOf(event) ?? next.finish }, events];
}

/** Returns the closing events; `isCutShort` is true when the gateway ended it as if its limit was reached. */
export function finishGemini(
  state: GeminiState,
  { usage, isCutShort }: { usage: TokenUsage; isCutShort: boolean },
): JsonRecord[] {
  const events: JsonRecord[] = [];
  const closed = withoutOpen(started(state, events), events);
  const reason = isCutShort ? 'max_tokens' : stopReasonOf(closed);
  events.push(
    {
      type: 'message_delta',
      delta: { stop_reason: reason, stop_sequence: null, ...details(reason, closed) },
      usage: toMessagesUsage(usage),
    },
    { type: 'message_stop' },
  );
  return events;
}

/** Matches every reason by which the provider withholds an answer: https://ai.google.dev/api/generate-content#FinishReason */
const REFUSALS =
  /SAFETY|RECITATION|BLOCKLIST|PROHIBITED_CONTENT|SPII|LANGUAGE|IMAGE_OTHER|MODEL_ARMOR/;

function stopReasonOf({ finish, toolCount }: GeminiState): string {
  if (finish && (finish.isBlocked || REFUSALS.test(finish.reason))) return 'refusal';
  if (finish?.reason === 'MAX_TOKENS') return 'max_tokens';
  return toolCount > 0 ? 'tool_use' : 'end_turn';
}

function details(reason: string, { finish }: GeminiState): JsonRecord {
  if (reason !== 'refusal') return {};
  const subject = finish?.isBlocked ? 'prompt' : 'answer';
  return {
    stop_details: refusalDetails(`The provider blocked the ${subject} (${finish?.reason}).`),
  };
}

function started(state: GeminiState, events: JsonRecord[]): GeminiState {
  if (!state.isStarted) events.push(messageStart(state));
  return { ...state, isStarted: true };
}

function withoutOpen(state: GeminiState, events: JsonRecord[]): GeminiState {
  if (state.open === null) return state;
  events.push({ type: 'content_block_stop', index: state.blockCount - 1 });
  return { ...state, open: null };
}

function withText(state: GeminiState, part: JsonRecord, events: JsonRecord[]): GeminiState {
  const said = text(part['text']) ?? '';
  if (said === '') return state;
  const kind = part['thought'] === true ? 'thinking' : 'text';
  let next = state;
  if (state.open !== kind) {
    next = withoutOpen(state, events);
    const content_block =
      kind === 'text'
        ? { type: 'text', text: '' }
        : { type: 'thinking', thinking: '', signature: '' };
    events.push({ type: 'content_block_start', index: next.blockCount, content_block });
    next = { ...next, open: kind, blockCount: next.blockCount + 1 };
  }
  events.push({
    type: 'content_block_delta',
    index: next.blockCount - 1,
    delta:
      kind === 'text'
        ? { type: 'text_delta', text: said }
        : { type: 'thinking_delta', thinking: said },
  });
  return next;
}

/** Gemini sends a call whole, in one event. */
function withCall(state: GeminiState, part: JsonRecord, events: JsonRecord[]): GeminiState {
  const next = withoutOpen(state, events);
  const { name, args } = record(part['functionCall']);
  const index = next.blockCount;
  const id = signedToolId(
    `${next.id.slice(-12)}${next.toolCount}`,
    nonEmpty(part['thoughtSignature']),
  );
  events.push(
    {
      type: 'content_block_start',
      index,
      content_block: { type: 'tool_use', id, name: text(name) ?? '', input: {} },
    },
    {
      type: 'content_block_delta',
      index,
      delta: { type: 'input_json_delta', partial_json: JSON.stringify(record(args)) },
    },
    { type: 'content_block_stop', index },
  );
  return { ...next, blockCount: index + 1, toolCount: next.toolCount + 1 };
}
