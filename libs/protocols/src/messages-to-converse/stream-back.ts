import type { TokenUsage } from '@tollgate/contracts';
import { generatedBy } from '../answers/converse/converse-events.ts';
import { isRecord, nonEmpty, record, text, type JsonRecord } from '../json/json-guard.ts';
import { refusalDetails } from '../messages-to-chat/message-back.ts';
import { messageStart } from '../stream/message-start.ts';
import { toMessagesUsage } from '../usage/messages-usage.ts';

type BlockKind = 'text' | 'thinking' | 'tool_use';

export interface ConverseState {
  readonly id: string;
  readonly model: string;
  readonly isStarted: boolean;
  readonly blockCount: number;
  readonly open: BlockKind | null;
  readonly stopReason: string | null;
}

export function startConverse(id: string, model: string): ConverseState {
  return { id, model, isStarted: false, blockCount: 0, open: null, stopReason: null };
}

/** Converts one event of ConverseStream to the equivalent events of messages. */
export function converseStep(
  state: ConverseState,
  event: JsonRecord,
): readonly [ConverseState, JsonRecord[]] {
  const events: JsonRecord[] = [];
  let next = started(state, events);
  const { toolUse } = record(record(event['contentBlockStart'])['start']);
  if (isRecord(toolUse)) next = withCall(next, toolUse, events);
  if (isRecord(event['contentBlockDelta'])) next = withDelta(next, event, events);
  if (isRecord(event['contentBlockStop'])) next = closed(next, events);
  const stopReason = text(record(event['messageStop'])['stopReason']) ?? next.stopReason;
  return [{ ...next, stopReason }, events];
}

/** See https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_MessageStopEvent.html */
const STOP_REASONS: Readonly<Record<string, string>> = {
  tool_use: 'tool_use',
  max_tokens: 'max_tokens',
  model_context_window_exceeded: 'model_context_window_exceeded',
  stop_sequence: 'stop_sequence',
  guardrail_intervened: 'refusal',
  content_filtered: 'refusal',
  refusal: 'refusal',
};

export function finishConverse(
  state: ConverseState,
  { usage, isCutShort }: { usage: TokenUsage; isCutShort: boolean },
): JsonRecord[] {
  const events: JsonRecord[] = [];
  const last = closed(started(state, events), events);
  const reason = isCutShort ? 'max_tokens' : (STOP_REASONS[last.stopReason ?? ''] ?? 'end_turn');
  const details =
    reason === 'refusal'
      ? { stop_details: refusalDetails(`The provider blocked the answer (${last.stopReason}).`) }
      : {};
  events.push(
    {
      type: 'message_delta',
      delta: { stop_reason: reason, stop_sequence: null, ...details },
      usage: toMessagesUsage(usage),
    },
    { type: 'message_stop' },
  );
  return events;
}

function started(state: ConverseState, events: JsonRecord[]): ConverseState {
  if (!state.isStarted) events.push(messageStart(state));
  return { ...state, isStarted: true };
}

function closed(state: ConverseState, events: JsonRecord[]): ConverseState {
  if (state.open === null) return state;
  events.push({ type: 'content_block_stop', index: state.blockCount - 1 });
  return { ...state, open: null };
}

function opened(
  state: ConverseState,
  block: JsonRecord & { type: BlockKind },
  events: JsonRecord[],
): ConverseState {
  const { blockCount: index } = state;
  events.push({ type: 'content_block_start', index, content_block: block });
  return { ...state, open: block.type, blockCount: index + 1 };
}

function withCall(state: ConverseState, toolUse: JsonRecord, events: JsonRecord[]): ConverseState {
  const id = nonEmpty(toolUse['toolUseId']) ?? `tooluse_${state.id.slice(-12)}${state.blockCount}`;
  const name = text(toolUse['name']) ?? '';
  return opened(closed(state, events), { type: 'tool_use', id, name, input: {} }, events);
}

/** A block of text or of thoughts begins with its first delta. */
function withDelta(state: ConverseState, event: JsonRecord, events: JsonRecord[]): ConverseState {
  const { text: said, thought, call } = generatedBy(event);
  const { signature, redactedContent } = record(
    record(record(event['contentBlockDelta'])['delta'])['reasoningContent'],
  );
  if (said !== '') return withPiece(state, 'text', { type: 'text_delta', text: said }, events);
  if (thought !== '')
    return withPiece(state, 'thinking', { type: 'thinking_delta', thinking: thought }, events);
  if (nonEmpty(signature) !== null)
    return withPiece(state, 'thinking', { type: 'signature_delta', signature }, events);
  if (nonEmpty(redactedContent) !== null) return withRedacted(state, redactedContent, events);
  if (call === '' || state.open !== 'tool_use') return state;
  return withPiece(state, 'tool_use', { type: 'input_json_delta', partial_json: call }, events);
}

const EMPTY_BLOCKS = {
  text: { type: 'text', text: '' },
  thinking: { type: 'thinking', thinking: '', signature: '' },
  tool_use: { type: 'tool_use', input: {} },
} as const;

function withPiece(
  state: ConverseState,
  kind: BlockKind,
  delta: JsonRecord,
  events: JsonRecord[],
): ConverseState {
  const next =
    state.open === kind ? state : opened(closed(state, events), EMPTY_BLOCKS[kind], events);
  events.push({ type: 'content_block_delta', index: next.blockCount - 1, delta });
  return next;
}

function withRedacted(state: ConverseState, data: unknown, events: JsonRecord[]): ConverseState {
  const { blockCount: index, ...rest } = closed(state, events);
  events.push(
    { type: 'content_block_start', index, content_block: { type: 'redacted_thinking', data } },
    { type: 'content_block_stop', index },
  );
  return { ...rest, blockCount: index + 1 };
}
