import { isRecord, nonEmpty, numberOf, record, records, text, wordOf } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { unsupported, unsupportedHere } from '../errors/unsupported.ts';
import { inputMessages } from './input-messages.ts';
import { chatToolOf, flatName, registerTools } from './tool-registry.ts';
import type { RegisteredTool } from './tool-registry.ts';

/** Lists fields that refer to state that the gateway would have to keep between calls. */
const STATEFUL_FIELDS = ['previous_response_id', 'conversation', 'prompt'] as const;

/** Calls `toChatBody` with the tools that the body itself names. */
export function chatBodyOf(body: JsonRecord): JsonRecord {
  return toChatBody(body, registerTools(body['tools']));
}

/**
 * Converts a /v1/responses request body to a chat request body, which an exchange for chat then sends. It throws `InvalidRequest` naming a field without
 * a counterpart.
 */
export function toChatBody(body: JsonRecord, tools: readonly RegisteredTool[]): JsonRecord {
  for (const field of STATEFUL_FIELDS)
    if (body[field] !== undefined && body[field] !== null)
      throw unsupportedHere(field, field, 'nothing is stored; send the whole input');
  if (body['background'] === true)
    throw unsupportedHere('background', 'background', 'an answer is given at once and not stored');
  if (numberOf(body['top_logprobs'] ?? 0) > 0) throw unsupported('top_logprobs', 'top_logprobs');
  const { temperature, top_p, max_output_tokens: limit } = body;
  const effort = nonEmpty(record(body['reasoning'])['effort']);
  const user = nonEmpty(body['safety_identifier']) ?? nonEmpty(body['user']);
  return {
    model: body['model'],
    messages: inputMessages(body['instructions'], body['input']),
    ...(tools.length === 0
      ? {}
      : { tools: tools.map(chatToolOf), ...toolChoice(body['tool_choice']) }),
    ...(tools.length > 0 && body['parallel_tool_calls'] === false
      ? { parallel_tool_calls: false }
      : {}),
    ...(typeof limit === 'number' ? { max_tokens: limit } : {}),
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...(typeof top_p === 'number' ? { top_p } : {}),
    ...(effort === null ? {} : { reasoning_effort: effort }),
    ...responseFormat(record(record(body['text'])['format'])),
    ...(user === null ? {} : { user }),
    ...(body['stream'] === true ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

function toolChoice(choice: unknown): JsonRecord {
  if (typeof choice === 'string') return { tool_choice: choice };
  if (!isRecord(choice)) return {};
  if (choice['type'] === 'allowed_tools') {
    const tools = records(choice['tools']).map(chosen);
    return {
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: choice['mode'] ?? 'auto', tools },
      },
    };
  }
  if (choice['type'] !== 'function' && choice['type'] !== 'custom')
    throw unsupported(`tool_choice of type "${wordOf(choice['type'])}"`, 'tool_choice');
  return { tool_choice: chosen(choice) };
}

function chosen(choice: JsonRecord): JsonRecord {
  return {
    type: 'function',
    function: { name: flatName(text(choice['name']) ?? '', text(choice['namespace'])) },
  };
}

function responseFormat(format: JsonRecord): JsonRecord {
  if (format['type'] === 'json_object') return { response_format: { type: 'json_object' } };
  if (format['type'] !== 'json_schema') return {};
  const { type: _, ...json_schema } = format;
  return { response_format: { type: 'json_schema', json_schema } };
}

/** Chat's tool messages contain only text, so images of results follow in a user message after all of them. */
export function withTextOnlyResults(messages: readonly JsonRecord[]): JsonRecord[] {
  const done: JsonRecord[] = [];
  let shown: JsonRecord[] = [];
  const show = (): void => {
    if (shown.length > 0) done.push({ role: 'user', content: shown });
    shown = [];
  };
  for (const message of messages) {
    const parts = message['role'] === 'tool' ? records(message['content']) : [];
    if (message['role'] !== 'tool') show();
    shown.push(...parts.filter(({ type }) => type !== 'text'));
    done.push(parts.length === 0 ? message : { ...message, content: partsText(parts) });
  }
  show();
  return done;
}

/** Every chat upstream accepts one system message at the beginning; later instructions become the user's. */
export function withOneSystemMessage(messages: readonly JsonRecord[]): JsonRecord[] {
  const isInstruction = ({ role }: JsonRecord): boolean =>
    role === 'system' || role === 'developer';
  const rest = messages.findIndex((message) => !isInstruction(message));
  const leading = messages
    .slice(0, rest === -1 ? messages.length : rest)
    .map(({ content }) => text(content) ?? partsText(records(content)));
  const later = messages
    .slice(leading.length)
    .map((message) => (isInstruction(message) ? { ...message, role: 'user' } : message));
  return leading.length === 0 ? later : [{ role: 'system', content: leading.join('\n') }, ...later];
}

function partsText(parts: readonly JsonRecord[]): string {
  return parts.flatMap((part) => text(part['text']) ?? []).join('\n');
}

/** Removes the private fields of `toChatBody`'s messages, which a chat upstream must not see. */
export function withoutThoughts(
  messages: readonly JsonRecord[],
  { keepsReasoning }: { keepsReasoning: boolean },
): JsonRecord[] {
  return messages.map((item) => {
    const { thinking_blocks: _, reasoning_content: reasoning, ...message } = item;
    return keepsReasoning && reasoning !== undefined
      ? { ...message, reasoning_content: reasoning }
      : message;
  });
}
