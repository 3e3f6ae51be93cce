import type { TokenUsage } from '@tollgate/contracts';
import { nonEmpty, record, records, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import type { Identity } from '../stream/made-identity.ts';
import { finishReason } from '../translation/stop-reasons.ts';
import { toChatUsage } from '../usage/chat-usage.ts';
import { besideText, pieceOf } from './beside-text.ts';

export interface CompletionFrame {
  identity: Identity;
  /** Is the model name that the client asked for. */
  model: string;
  usage: TokenUsage;
}

/** Converts an Anthropic message to a chat completion (docs/design/protocols.md#stream-from-messages-to-chat). Calls of server tools are omitted. */
export function toCompletion(
  message: JsonRecord,
  { identity, model, usage }: CompletionFrame,
): JsonRecord {
  const blocks = records(message['content']);
  const reasoning = joined(blocks, 'thinking', 'thinking');
  const calls = blocks.filter(({ type }) => type === 'tool_use').map(toolCall);
  const choice = {
    index: 0,
    message: {
      role: 'assistant',
      content: nonEmpty(joined(blocks, 'text', 'text')),
      refusal: refusalText(message),
      ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
      ...besideText(blocks.flatMap((block) => pieceOf(block) ?? [])),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
    logprobs: null,
    finish_reason: finishReason(text(message['stop_reason'])),
  };
  return {
    id: identity.id,
    object: 'chat.completion',
    created: identity.created,
    model,
    choices: [choice],
    usage: toChatUsage(usage),
  };
}

/** Returns the refusal text of a refusing model; null when it did not refuse. */
export function refusalText(message: JsonRecord): string | null {
  if (message['stop_reason'] !== 'refusal') return null;
  return nonEmpty(record(message['stop_details'])['explanation']) ?? 'The model refused to answer.';
}

function joined(blocks: readonly JsonRecord[], type: string, field: string): string {
  return blocks.map((block) => (block['type'] === type ? (text(block[field]) ?? '') : '')).join('');
}

function toolCall(block: JsonRecord): JsonRecord {
  return {
    id: block['id'],
    type: 'function',
    function: { name: text(block['name']) ?? '', arguments: JSON.stringify(block['input'] ?? {}) },
  };
}
