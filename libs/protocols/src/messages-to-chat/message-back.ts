import type { TokenUsage } from '@tollgate/contracts';
import { isRecord, nonEmpty, parseJson, record, records, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { chatText } from '../answers/openai/chat-text.ts';
import { stopReason } from '../translation/stop-reasons.ts';
import { carryToolId } from '../translation/tool-ids.ts';
import { toMessagesUsage } from '../usage/messages-usage.ts';

export interface MessageFrame {
  id: string;
  /** Is the model name that the client asked for. */
  model: string;
  usage: TokenUsage;
  /** Equals `MessageState.refusalType`. */
  refusalType?: 'text' | 'refusal';
}

/** Converts a chat completion's first choice to an Anthropic message (docs/design/protocols.md#stream-from-chat-to-messages). */
export function toMessage(
  completion: JsonRecord,
  { id, model, usage, refusalType = 'text' }: MessageFrame,
): JsonRecord {
  const [choice = {}] = records(completion['choices']);
  const message = record(choice['message']);
  const { text: answer, thinking } = chatText(message);
  const refusal = nonEmpty(message['refusal']);
  const calls = toolCalls(message).map((call, index) => toolUse(call, `${id}_${index}`));
  const content = [
    ...(thinking === '' ? [] : [{ type: 'thinking', thinking, signature: '' }]),
    ...(answer === '' ? [] : [{ type: 'text', text: answer }]),
    ...(refusal === null ? [] : [{ type: refusalType, text: refusal }]),
    ...calls,
  ];
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: stopReason(text(choice['finish_reason']), {
      hasTools: calls.length > 0,
      hasRefusal: refusal !== null,
    }),
    stop_sequence: null,
    ...(refusal === null ? {} : { stop_details: refusalDetails(refusal) }),
    usage: toMessagesUsage(usage),
  };
}

export function refusalDetails(explanation: string): JsonRecord {
  return { type: 'refusal', category: null, explanation };
}

/** Reads `tool_calls`, or the one call of the legacy `function_call`. */
function toolCalls(message: JsonRecord): JsonRecord[] {
  const calls = records(message['tool_calls']);
  return calls.length === 0 && isRecord(message['function_call'])
    ? [{ function: message['function_call'] }]
    : calls;
}

function toolUse(call: JsonRecord, fallbackId: string): JsonRecord {
  const fn = record(call['function']);
  return {
    type: 'tool_use',
    id: carryToolId(nonEmpty(call['id']) ?? fallbackId),
    name: fn['name'] ?? '',
    input: toolInput(fn['arguments']),
  };
}

/** Arguments that are not a JSON object (cut by the limit, or broken by the model) cannot be an `input`. */
function toolInput(args: unknown): JsonRecord {
  return record(typeof args === 'string' ? parseJson(args.trim() || '{}') : args);
}
