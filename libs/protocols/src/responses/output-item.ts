import { parseJson, record, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { sealThinking } from '../translation/sealed-thinking.ts';
import { chatToolId } from '../translation/tool-ids.ts';
import type { RegisteredTool } from './tool-registry.ts';

/** Holds a content block that becomes an output item. */
export interface ItemDraft {
  readonly id: string;
  readonly kind: 'message' | 'refusal' | 'reasoning' | 'function_call' | 'custom_tool_call';
  /** Holds the text, summary or arguments so far. */
  readonly text: string;
  readonly signature: string;
  /** Holds the block as it began: a tool's id and name, or the data of redacted thinking. */
  readonly block: JsonRecord;
  readonly tool: RegisteredTool | null;
}

/** Returns the draft for a block; null for blocks without an item in /v1/responses: server tools and their results. */
export function draftItem(
  block: JsonRecord,
  { id, tools }: { id: string; tools: readonly RegisteredTool[] },
): ItemDraft | null {
  const draft = { text: '', signature: '', block, tool: null };
  if (block['type'] === 'refusal')
    return { ...draft, id: `msg_${id}`, kind: 'refusal', text: text(block['text']) ?? '' };
  if (block['type'] === 'text')
    return { ...draft, id: `msg_${id}`, kind: 'message', text: text(block['text']) ?? '' };
  if (block['type'] === 'thinking' || block['type'] === 'redacted_thinking') {
    return {
      ...draft,
      id: `rs_${id}`,
      kind: 'reasoning',
      text: text(block['thinking']) ?? '',
      signature: text(block['signature']) ?? '',
    };
  }
  if (block['type'] !== 'tool_use') return null;
  const tool = tools.find(({ flatName }) => flatName === block['name']) ?? null;
  return tool?.kind === 'custom'
    ? { ...draft, id: `ctc_${id}`, kind: 'custom_tool_call', tool }
    : { ...draft, id: `fc_${id}`, kind: 'function_call', tool };
}

/** Returns the draft of a block that has ended. A call whose input never came in deltas has it in its start (programmatic tool calling), or takes none. */
export function closedDraft(draft: ItemDraft): ItemDraft {
  const isCall = draft.kind === 'function_call' || draft.kind === 'custom_tool_call';
  if (!isCall || draft.text !== '') return draft;
  const input = record(draft.block['input']);
  const isEmpty = Object.keys(input).length === 0;
  if (isEmpty && draft.kind === 'custom_tool_call') return draft;
  return { ...draft, text: isEmpty ? '{}' : JSON.stringify(input) };
}

/** Returns the item in its current state: `in_progress` when its block opens, `completed` when it is complete. */
export function outputItem(draft: ItemDraft, status: 'in_progress' | 'completed'): JsonRecord {
  const isWhole = status === 'completed';
  const { id, kind } = draft;
  switch (kind) {
    case 'message':
    case 'refusal':
      return {
        id,
        type: 'message',
        role: 'assistant',
        status,
        content: isWhole ? [contentPart(draft)] : [],
      };
    case 'reasoning':
      return {
        id,
        type: 'reasoning',
        summary: isWhole && draft.text !== '' ? [summaryPart(draft.text)] : [],
        encrypted_content: isWhole ? sealed(draft) : null,
      };
    case 'function_call':
      return {
        id,
        type: 'function_call',
        status,
        arguments: isWhole ? draft.text : '',
        ...callOf(draft),
      };
    case 'custom_tool_call':
      return {
        id,
        type: 'custom_tool_call',
        status,
        input: isWhole ? customInput(draft) : '',
        ...callOf(draft),
      };
  }
}

export function contentPart({ kind, text: said }: ItemDraft): JsonRecord {
  return kind === 'refusal'
    ? { type: 'refusal', refusal: said }
    : { type: 'output_text', text: said, annotations: [], logprobs: [] };
}

export function summaryPart(said: string): JsonRecord {
  return { type: 'summary_text', text: said };
}

/** A custom tool's free text is the `input` argument of the function that represents it. */
export function customInput({ text: args }: ItemDraft): string {
  return text(record(parseJson(args))['input']) ?? args;
}

/** Returns the name of the called tool; empty where the upstream names none, because clients read the member by its schema. */
export function calledName({ block, tool }: ItemDraft): string {
  return tool?.name ?? text(block['name']) ?? '';
}

function callOf(draft: ItemDraft): JsonRecord {
  const namespace = draft.tool?.namespace ?? null;
  return {
    call_id: chatToolId(text(draft.block['id']) ?? ''),
    name: calledName(draft),
    ...(namespace === null ? {} : { namespace }),
  };
}

function sealed({ block, text: thinking, signature }: ItemDraft): string | null {
  return sealThinking(
    block['type'] === 'thinking'
      ? { type: 'thinking', thinking, signature }
      : { type: 'redacted_thinking', data: block['data'] },
  );
}
