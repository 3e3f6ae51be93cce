import type { TokenUsage } from '@tollgate/contracts';
import { isRecord, nonEmpty, record, records, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { chatText } from '../answers/openai/chat-text.ts';
import { messageStart } from '../stream/message-start.ts';
import { stopReason } from '../translation/stop-reasons.ts';
import { carryToolId } from '../translation/tool-ids.ts';
import { toMessagesUsage } from '../usage/messages-usage.ts';
import { refusalDetails } from './message-back.ts';
import { isComplete, withToolDelta } from './tool-calls.ts';
import type { StreamedTool } from './tool-calls.ts';

type TextKind = 'text' | 'thinking' | 'refusal';

export interface MessageState {
  readonly id: string;
  readonly model: string;
  /** Is the type of a refusal's block: messages has no type for it, /v1/responses does. */
  readonly refusalType: 'text' | 'refusal';
  readonly isStarted: boolean;
  /** Counts the content blocks so far: indexes are contiguous from 0 (behaviour 17). */
  readonly blockCount: number;
  /** Is the open text or thinking block; while a tool of `tools` is open its block is open instead. */
  readonly open: { readonly kind: TextKind; readonly index: number } | null;
  readonly tools: readonly StreamedTool[];
  /** Holds text that came while a tool's arguments were incomplete. Blocks never overlap, so it is sent after them. */
  readonly held: readonly { readonly kind: TextKind; readonly text: string }[];
  readonly finish: string | null;
  readonly refusal: string;
}

/** Holds the client events of one step, in order. */
type Events = JsonRecord[];

export function startMessage(
  id: string,
  model: string,
  refusalType: MessageState['refusalType'] = 'text',
): MessageState {
  return {
    id,
    model,
    refusalType,
    isStarted: false,
    blockCount: 0,
    open: null,
    tools: [],
    held: [],
    finish: null,
    refusal: '',
  };
}

/**
 * Converts one chat chunk to the equivalent Anthropic events (docs/design/protocols.md#stream-from-chat-to-messages). Only the first choice is
 * translated; there is never another.
 */
export function messageStep(
  state: MessageState,
  chunk: JsonRecord,
): readonly [MessageState, Events] {
  const choice = records(chunk['choices']).find(
    ({ index }) => index === undefined || index === null || index === 0,
  );
  if (!choice) return [state, []];
  const events: Events = [];
  const delta = record(choice['delta']);
  const { text: answer, thinking } = chatText(delta);
  const refusal = text(delta['refusal']) ?? '';
  let next = started(state, events);
  next = withText(next, { kind: 'thinking', text: thinking }, events);
  next = withText(next, { kind: 'text', text: answer }, events);
  next = withText(
    { ...next, refusal: next.refusal + refusal },
    { kind: next.refusalType, text: refusal },
    events,
  );
  const calls = isRecord(delta['function_call'])
    ? [{ index: 0, function: delta['function_call'] }]
    : records(delta['tool_calls']);
  for (const call of calls)
    next = advanceTools({ ...next, tools: withToolDelta(next.tools, call) }, events);
  // The first finish_reason counts, because OpenRouter sends another one with the usage.
  return [{ ...next, finish: next.finish ?? nonEmpty(choice['finish_reason']) }, events];
}

/** Returns the closing events: those for whatever is open or waiting, message_delta with usage, message_stop (behaviours 15, 16). */
export function finishMessage(
  state: MessageState,
  { usage, isCutShort }: { usage: TokenUsage; isCutShort: boolean },
): Events {
  const events: Events = [];
  let next = closedTools(started(state, events), events);
  for (const piece of next.held) next = withText(next, piece, events);
  closedText(next, events);
  const hasRefusal = next.refusal !== '';
  const reason = isCutShort
    ? 'max_tokens'
    : stopReason(next.finish, { hasTools: next.tools.length > 0, hasRefusal });
  const details = hasRefusal ? { stop_details: refusalDetails(next.refusal) } : {};
  events.push({
    type: 'message_delta',
    delta: { stop_reason: reason, stop_sequence: null, ...details },
    usage: toMessagesUsage(usage),
  });
  events.push({ type: 'message_stop' });
  return events;
}

function started(state: MessageState, events: Events): MessageState {
  if (state.isStarted) return state;
  events.push(messageStart(state));
  return { ...state, isStarted: true };
}

/** A change of kind closes one block, opens the next, and then sends the delta that caused it (LiteLLM#25321 lost it). */
function withText(
  state: MessageState,
  piece: { kind: TextKind; text: string },
  events: Events,
): MessageState {
  if (piece.text === '') return state;
  const waiting = state.tools.filter(({ isClosed }) => !isClosed);
  if (!waiting.every(isComplete)) return { ...state, held: [...state.held, piece] };
  const free = waiting.length === 0 ? state : closedTools(state, events);
  const opened =
    free.open?.kind === piece.kind
      ? free
      : openedText(closedText(free, events), piece.kind, events);
  const delta =
    piece.kind === 'thinking'
      ? { type: 'thinking_delta', thinking: piece.text }
      : { type: 'text_delta', text: piece.text };
  events.push({ type: 'content_block_delta', index: opened.open?.index ?? 0, delta });
  return opened;
}

function openedText(state: MessageState, kind: TextKind, events: Events): MessageState {
  const index = state.blockCount;
  const content_block =
    kind === 'thinking'
      ? { type: 'thinking', thinking: '', signature: '' }
      : { type: kind, text: '' };
  events.push({ type: 'content_block_start', index, content_block });
  return { ...state, open: { kind, index }, blockCount: index + 1 };
}

function closedText(state: MessageState, events: Events): MessageState {
  if (state.open === null) return state;
  events.push({ type: 'content_block_stop', index: state.open.index });
  return { ...state, open: null };
}

/**
 * Streams the first unfinished tool as it arrives. The next one begins when its arguments are complete, so that interleaved deltas never mix
 * (behaviour 18).
 */
function advanceTools(state: MessageState, events: Events): MessageState {
  let next = state;
  for (;;) {
    const at = next.tools.findIndex(({ isClosed }) => !isClosed);
    const tool = next.tools[at];
    if (!tool || tool.name === '') return next;
    next = toldTool(next, at, events);
    if (at === next.tools.length - 1 || !isComplete(tool)) return next;
    next = closedTool(next, at, events);
  }
}

function closedTools(state: MessageState, events: Events): MessageState {
  return state.tools.reduce(
    (next, tool, at) => (tool.isClosed ? next : closedTool(toldTool(next, at, events), at, events)),
    state,
  );
}

/** Opens the tool's block if needed, and sends the arguments that the client has not received. */
function toldTool(state: MessageState, at: number, events: Events): MessageState {
  const tool = state.tools[at];
  if (!tool) return state;
  const free = closedText(state, events);
  const block = tool.block ?? free.blockCount;
  if (tool.block === null) {
    const id = carryToolId(tool.id ?? `${state.id}_${at}`);
    events.push({
      type: 'content_block_start',
      index: block,
      content_block: { type: 'tool_use', id, name: tool.name, input: {} },
    });
  }
  if (tool.unsent !== '')
    events.push({
      type: 'content_block_delta',
      index: block,
      delta: { type: 'input_json_delta', partial_json: tool.unsent },
    });
  return {
    ...free,
    blockCount: Math.max(free.blockCount, block + 1),
    tools: free.tools.with(at, { ...tool, block, unsent: '' }),
  };
}

/** A tool without arguments takes none: `{}` (behaviour 19). */
function closedTool(state: MessageState, at: number, events: Events): MessageState {
  const tool = state.tools[at];
  if (!tool) return state;
  if (tool.args.trim() === '')
    events.push({
      type: 'content_block_delta',
      index: tool.block,
      delta: { type: 'input_json_delta', partial_json: '{}' },
    });
  events.push({ type: 'content_block_stop', index: tool.block });
  return { ...state, tools: state.tools.with(at, { ...tool, isClosed: true }) };
}
