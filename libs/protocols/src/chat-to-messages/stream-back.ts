import type { TokenUsage } from '@tollgate/contracts';
import { isRecord, record, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import type { Identity } from '../stream/made-identity.ts';
import { finishReason } from '../translation/stop-reasons.ts';
import { toChatUsage } from '../usage/chat-usage.ts';
import { besideText, grownPiece, pieceOf } from './beside-text.ts';
import type { Piece } from './beside-text.ts';
import { refusalText } from './completion-back.ts';

export interface ChunkState {
  readonly identity: Identity;
  readonly model: string;
  readonly hasRole: boolean;
  /** Counts the tool calls so far; their indexes count only tools, not content blocks (behaviour 20). */
  readonly toolCount: number;
  /** Is the open tool_use block. */
  readonly openTool: {
    readonly index: number;
    readonly input: unknown;
    readonly hasInput: boolean;
  } | null;
  /** Is the open block, for what it adds to the text. */
  readonly piece: Piece | null;
  readonly pieces: readonly Piece[];
  readonly isFinished: boolean;
}

const ROLE = { role: 'assistant', content: '' };

type Step = readonly [ChunkState, readonly JsonRecord[]];

export function startChunks(identity: Identity, model: string): ChunkState {
  return {
    identity,
    model,
    hasRole: false,
    toolCount: 0,
    openTool: null,
    piece: null,
    pieces: [],
    isFinished: false,
  };
}

/**
 * Converts one Anthropic event to chat chunks with the same content (docs/design/protocols.md#stream-from-messages-to-chat). Server tools and pings
 * give no chunks; signed thinking and sources come before the finish.
 */
export function chunkStep(state: ChunkState, event: JsonRecord): Step {
  switch (event['type']) {
    case 'message_start':
      return state.hasRole ? [state, []] : [{ ...state, hasRole: true }, [chunk(state, ROLE)]];
    case 'content_block_start': {
      const block = record(event['content_block']);
      return blockStart({ ...state, piece: pieceOf(block) }, block);
    }
    case 'content_block_delta': {
      const delta = record(event['delta']);
      const { piece } = state;
      return blockDelta(piece ? { ...state, piece: grownPiece(piece, delta) } : state, delta);
    }
    case 'content_block_stop':
      return blockStop(withPiece(state));
    case 'message_delta':
      return messageDelta(state, record(event['delta']));
    default:
      return [state, []];
  }
}

export interface ChunkEnd {
  usage: TokenUsage;
  wantsUsage: boolean;
  /** Is true when the gateway ended the stream. */
  isCutShort: boolean;
}

/** Returns the closing chunks: a finish when none was sent yet, and usage when the client asked for it. */
export function finishChunks(
  state: ChunkState,
  { usage, wantsUsage, isCutShort }: ChunkEnd,
): JsonRecord[] {
  const reason = isCutShort ? 'length' : state.toolCount > 0 ? 'tool_calls' : 'stop';
  const finish = state.isFinished
    ? []
    : [...beside(state), chunk(state, state.hasRole ? {} : ROLE, reason)];
  return wantsUsage
    ? [...finish, { ...head(state), choices: [], usage: toChatUsage(usage) }]
    : finish;
}

function blockStart(state: ChunkState, block: JsonRecord): Step {
  if (block['type'] === 'text') return said(state, 'content', block['text']);
  if (block['type'] === 'thinking') return said(state, 'reasoning_content', block['thinking']);
  if (block['type'] !== 'tool_use') return [state, []];
  const index = state.toolCount;
  const call = {
    index,
    id: block['id'],
    type: 'function',
    function: { name: text(block['name']) ?? '', arguments: '' },
  };
  return [
    { ...state, toolCount: index + 1, openTool: { index, input: block['input'], hasInput: false } },
    [chunk(state, { tool_calls: [call] })],
  ];
}

function blockDelta(state: ChunkState, delta: JsonRecord): Step {
  if (delta['type'] === 'text_delta') return said(state, 'content', delta['text']);
  if (delta['type'] === 'thinking_delta')
    return said(state, 'reasoning_content', delta['thinking']);
  const { openTool } = state;
  const json = text(delta['partial_json']) ?? '';
  if (delta['type'] !== 'input_json_delta' || openTool === null || json === '') return [state, []];
  return [
    { ...state, openTool: { ...openTool, hasInput: true } },
    [chunk(state, { tool_calls: [{ index: openTool.index, function: { arguments: json } }] })],
  ];
}

/** A tool whose input never came in deltas has it in its start (programmatic tool calling), or takes none: `{}` (behaviour 19). */
function blockStop(state: ChunkState): Step {
  const { openTool } = state;
  if (openTool === null) return [state, []];
  const closed = { ...state, openTool: null };
  if (openTool.hasInput) return [closed, []];
  const whole = JSON.stringify(isRecord(openTool.input) ? openTool.input : {});
  return [
    closed,
    [chunk(state, { tool_calls: [{ index: openTool.index, function: { arguments: whole } }] })],
  ];
}

function messageDelta(state: ChunkState, delta: JsonRecord): Step {
  const reason = text(delta['stop_reason']);
  if (reason === null || state.isFinished) return [state, []];
  const refusal = refusalText(delta);
  const words = refusal === null ? [] : [chunk(state, { refusal })];
  return [
    { ...state, isFinished: true },
    [...words, ...beside(state), chunk(state, {}, finishReason(reason))],
  ];
}

function withPiece(state: ChunkState): ChunkState {
  const { piece, pieces } = state;
  return piece ? { ...state, piece: null, pieces: [...pieces, piece] } : state;
}

function beside(state: ChunkState): JsonRecord[] {
  const members = besideText(state.pieces);
  return Object.keys(members).length === 0 ? [] : [chunk(state, members)];
}

function said(state: ChunkState, field: 'content' | 'reasoning_content', value: unknown): Step {
  return typeof value === 'string' && value !== ''
    ? [state, [chunk(state, { [field]: value })]]
    : [state, []];
}

function chunk(
  state: ChunkState,
  delta: JsonRecord,
  finish_reason: string | null = null,
): JsonRecord {
  return { ...head(state), choices: [{ index: 0, delta, logprobs: null, finish_reason }] };
}

function head({ identity, model }: ChunkState): JsonRecord {
  return { id: identity.id, object: 'chat.completion.chunk', created: identity.created, model };
}
