import type { TokenUsage } from '@tollgate/contracts';
import { nonEmpty, record, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import {
  calledName,
  closedDraft,
  contentPart,
  customInput,
  draftItem,
  outputItem,
  summaryPart,
} from './output-item.ts';
import type { ItemDraft } from './output-item.ts';
import { endedResponse, responseObject } from './response-object.ts';
import type { ResponseFrame } from './response-object.ts';
import type { RegisteredTool } from './tool-registry.ts';

export interface ResponseState {
  readonly frame: ResponseFrame;
  readonly tools: readonly RegisteredTool[];
  readonly isStarted: boolean;
  /** Is the number of the next event, from 0. */
  readonly sequence: number;
  readonly output: readonly JsonRecord[];
  readonly draft: ItemDraft | null;
  readonly stopReason: string | null;
}

type Step = readonly [ResponseState, readonly JsonRecord[]];

export function startResponse(
  frame: ResponseFrame,
  tools: readonly RegisteredTool[],
): ResponseState {
  return { frame, tools, isStarted: false, sequence: 0, output: [], draft: null, stopReason: null };
}

/** Converts one Anthropic event to /v1/responses events with the same content (https://platform.openai.com/docs/api-reference/responses-streaming). */
export function responseStep(state: ResponseState, event: JsonRecord): Step {
  switch (event['type']) {
    case 'message_start':
      return start(state);
    case 'content_block_start':
      return openItem(state, record(event['content_block']));
    case 'content_block_delta':
      return state.draft === null ? [state, []] : grow(state, state.draft, record(event['delta']));
    case 'content_block_stop':
      return state.draft === null ? [state, []] : closeItem(state, state.draft);
    case 'message_delta':
      return stop(state, record(event['delta']));
    default:
      return [state, []];
  }
}

/** Returns the closing events: an item that is still open, then `response.completed` or `response.incomplete`. */
export function finishResponse(
  state: ResponseState,
  { usage, isCutShort }: { usage: TokenUsage; isCutShort: boolean },
): readonly JsonRecord[] {
  const [started, opening] = start(state);
  const [closed, closing] =
    started.draft === null ? [started, []] : closeItem(started, started.draft);
  const response = endedResponse(closed.frame, {
    stopReason: isCutShort ? 'max_tokens' : closed.stopReason,
    output: closed.output,
    usage,
  });
  const [, last] = numbered(closed, [
    {
      type: `response.${response['status'] === 'completed' ? 'completed' : 'incomplete'}`,
      response,
    },
  ]);
  return [...opening, ...closing, ...last];
}

/** `response.failed` carries the error of an OpenAI body. */
export function failResponse(state: ResponseState, body: JsonRecord): JsonRecord {
  const { code, message } = record(body['error']);
  const response = {
    ...responseObject(state.frame, 'failed', state.output),
    error: { code: code ?? 'server_error', message },
  };
  return { type: 'response.failed', sequence_number: state.sequence, response };
}

/** Numbers the events. */
function numbered(state: ResponseState, events: readonly JsonRecord[]): Step {
  return [
    { ...state, sequence: state.sequence + events.length },
    events.map((event, at) => ({ ...event, sequence_number: state.sequence + at })),
  ];
}

function start(state: ResponseState): Step {
  if (state.isStarted) return [state, []];
  const response = responseObject(state.frame, 'in_progress', []);
  return numbered({ ...state, isStarted: true }, [
    { type: 'response.created', response },
    { type: 'response.in_progress', response },
  ]);
}

function openItem(state: ResponseState, block: JsonRecord): Step {
  const draft = draftItem(block, {
    id: `${state.frame.identity.id.replace('resp_', '')}_${state.output.length}`,
    tools: state.tools,
  });
  return draft === null ? [{ ...state, draft: null }, []] : openDraft(state, draft);
}

function openDraft(state: ResponseState, draft: ItemDraft): Step {
  const output_index = state.output.length;
  const added = {
    type: 'response.output_item.added',
    output_index,
    item: outputItem(draft, 'in_progress'),
  };
  const at = { item_id: draft.id, output_index };
  const part = (): JsonRecord[] => {
    if (draft.kind === 'message' || draft.kind === 'refusal')
      return [
        {
          type: 'response.content_part.added',
          ...at,
          content_index: 0,
          part: contentPart({ ...draft, text: '' }),
        },
      ];
    return draft.kind === 'reasoning' && draft.block['type'] === 'thinking'
      ? [
          {
            type: 'response.reasoning_summary_part.added',
            ...at,
            summary_index: 0,
            part: summaryPart(''),
          },
        ]
      : [];
  };
  return numbered({ ...state, draft }, [added, ...part()]);
}

function grow(state: ResponseState, draft: ItemDraft, delta: JsonRecord): Step {
  const signature = text(delta['signature']);
  if (signature !== null)
    return [{ ...state, draft: { ...draft, signature: draft.signature + signature } }, []];
  const said = text(delta['text']) ?? text(delta['thinking']) ?? text(delta['partial_json']) ?? '';
  if (said === '') return [state, []];
  const next = { ...state, draft: { ...draft, text: draft.text + said } };
  const at = { item_id: draft.id, output_index: state.output.length };
  switch (draft.kind) {
    case 'message':
      return numbered(next, [
        { type: 'response.output_text.delta', ...at, content_index: 0, delta: said, logprobs: [] },
      ]);
    case 'refusal':
      return numbered(next, [
        { type: 'response.refusal.delta', ...at, content_index: 0, delta: said },
      ]);
    case 'reasoning':
      return numbered(next, [
        { type: 'response.reasoning_summary_text.delta', ...at, summary_index: 0, delta: said },
      ]);
    case 'function_call':
      return numbered(next, [
        { type: 'response.function_call_arguments.delta', ...at, delta: said },
      ]);
    // The text is inside JSON that is still incomplete, so it is sent at the end.
    case 'custom_tool_call':
      return [next, []];
  }
}

function closeItem(state: ResponseState, open: ItemDraft): Step {
  const output_index = state.output.length;
  const draft = closedDraft(open);
  const item = outputItem(draft, 'completed');
  const events = [
    ...unsentArguments(open, draft, { item_id: draft.id, output_index }),
    ...doneEvents(draft, { item_id: draft.id, output_index }),
    { type: 'response.output_item.done', output_index, item },
  ];
  return numbered({ ...state, draft: null, output: [...state.output, item] }, events);
}

/** Clients build a call's arguments from their deltas. */
function unsentArguments(
  open: ItemDraft,
  { kind, text: whole }: ItemDraft,
  at: { item_id: string; output_index: number },
): JsonRecord[] {
  return kind === 'function_call' && open.text === ''
    ? [{ type: 'response.function_call_arguments.delta', ...at, delta: whole }]
    : [];
}

function doneEvents(draft: ItemDraft, at: { item_id: string; output_index: number }): JsonRecord[] {
  const said = draft.text;
  switch (draft.kind) {
    case 'message':
      return [
        { type: 'response.output_text.done', ...at, content_index: 0, text: said, logprobs: [] },
        { type: 'response.content_part.done', ...at, content_index: 0, part: contentPart(draft) },
      ];
    case 'refusal':
      return [
        { type: 'response.refusal.done', ...at, content_index: 0, refusal: said },
        { type: 'response.content_part.done', ...at, content_index: 0, part: contentPart(draft) },
      ];
    case 'reasoning':
      if (draft.block['type'] !== 'thinking') return [];
      return [
        { type: 'response.reasoning_summary_text.done', ...at, summary_index: 0, text: said },
        {
          type: 'response.reasoning_summary_part.done',
          ...at,
          summary_index: 0,
          part: summaryPart(said),
        },
      ];
    case 'function_call':
      return [
        {
          type: 'response.function_call_arguments.done',
          ...at,
          arguments: said,
          name: calledName(draft),
        },
      ];
    case 'custom_tool_call':
      return [
        { type: 'response.custom_tool_call_input.delta', ...at, delta: customInput(draft) },
        { type: 'response.custom_tool_call_input.done', ...at, input: customInput(draft) },
      ];
  }
}

/** A refusal with an explanation of Anthropic becomes a message of its own. */
function stop(state: ResponseState, delta: JsonRecord): Step {
  const stopReason = text(delta['stop_reason']) ?? state.stopReason;
  const next = { ...state, stopReason };
  const explanation =
    stopReason === 'refusal' ? nonEmpty(record(delta['stop_details'])['explanation']) : null;
  if (
    explanation === null ||
    state.output.some((item) => JSON.stringify(item).includes(JSON.stringify(explanation)))
  )
    return [next, []];
  const empty: ItemDraft = {
    id: `msg_${state.frame.identity.id.replace('resp_', '')}_${state.output.length}`,
    kind: 'refusal',
    text: '',
    signature: '',
    block: {},
    tool: null,
  };
  const [opened, opening] = openDraft(next, empty);
  const [grown, growing] = grow(opened, empty, { text: explanation });
  const [closed, closing] = grown.draft === null ? [grown, []] : closeItem(grown, grown.draft);
  return [closed, [...opening, ...growing, ...closing]];
}
