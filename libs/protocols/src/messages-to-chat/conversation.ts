import { list, nonEmpty, record, records, text, wordOf } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { chatToolId } from '../translation/tool-ids.ts';
import { contentValue } from '../translation/content-value.ts';
import { unsupported } from '../errors/unsupported.ts';
import { blockParts, chatContent, contentParts, systemText } from './content-parts.ts';

/**
 * Matches parts of an assistant turn that only their own vendor can use again. They are dropped and never shown as text
 * (docs/translation.md#requests-messages-to-chat).
 */
const VENDOR_BLOCKS =
  /^(?:redacted_thinking|compaction|container_upload|fallback|mcp_tool_listing|server_tool_use|mcp_tool_use|[a-z_]+_tool_result)$/;

export interface ConversationOptions {
  /** Is true for upstreams that require their visible thinking of a tool turn back as `reasoning_content`. */
  returnsReasoning: boolean;
}

/** Converts a messages conversation to chat messages (docs/translation.md#requests-messages-to-chat). */
export function chatMessages(
  system: unknown,
  messages: readonly unknown[],
  options: ConversationOptions,
): JsonRecord[] {
  const prompt = systemText(system, 'system');
  const converted: JsonRecord[] = prompt === '' ? [] : [{ role: 'system', content: prompt }];
  messages.forEach((item, index) => {
    const message = record(item);
    const param = `messages[${index}]`;
    const role = text(message['role']);
    if (role === 'assistant')
      assistantMessages(message['content'], `${param}.content`, options).forEach((turn) =>
        addAssistant(converted, turn),
      );
    else if (role === 'user') addUser(converted, message['content'], `${param}.content`);
    // Many upstreams accept a system message only at the beginning ("System message must be at the beginning"), so its text becomes the user's.
    else if (role === 'system')
      addParts(converted, [
        { type: 'text', text: systemText(message['content'], `${param}.content`) },
      ]);
    else throw unsupported(`role "${role ?? ''}"`, `${param}.role`);
  });
  return converted;
}

/** Neighbouring assistant turns become one: results must follow the message that contains their calls, and chat refuses calls without results after them. */
export function addAssistant(converted: JsonRecord[], turn: JsonRecord): void {
  const last = converted.at(-1);
  if (last?.['role'] !== 'assistant') {
    converted.push(turn);
    return;
  }
  const calls = [...list(last['tool_calls']), ...list(turn['tool_calls'])];
  const content = joinedLines(last['content'], turn['content']);
  const reasoning = joinedLines(last['reasoning_content'], turn['reasoning_content']);
  const blocks = [...list(last['thinking_blocks']), ...list(turn['thinking_blocks'])];
  converted[converted.length - 1] = {
    role: 'assistant',
    content,
    ...(reasoning === null ? {} : { reasoning_content: reasoning }),
    ...(blocks.length === 0 ? {} : { thinking_blocks: blocks }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function joinedLines(...texts: readonly unknown[]): string | null {
  return nonEmpty(texts.flatMap((value) => nonEmpty(value) ?? []).join('\n'));
}

/**
 * Tool results come directly after the assistant's calls, before any other content of the turn. Their images follow in a user message, because tool
 * messages contain only text.
 */
function addUser(converted: JsonRecord[], value: unknown, param: string): void {
  const content = contentValue(value);
  const blocks = list(content);
  const isResult = (block: unknown): boolean => record(block)['type'] === 'tool_result';
  const shown: JsonRecord[] = [];
  blocks.forEach((block, index) => {
    if (!isResult(block)) return;
    const { message, rest } = toolMessage(record(block), `${param}[${index}]`);
    converted.push(message);
    shown.push(...rest);
  });
  const others =
    typeof content === 'string'
      ? contentParts(content, param)
      : blocks.flatMap((block, index) =>
          isResult(block) ? [] : blockParts(block, `${param}[${index}]`),
        );
  addParts(converted, [...shown, ...others]);
}

/** Neighbouring user turns become one, because several chat templates refuse two in a row. */
function addParts(converted: JsonRecord[], parts: readonly JsonRecord[]): void {
  const said = parts.filter((part) => part['type'] !== 'text' || part['text'] !== '');
  if (said.length === 0) return;
  const last = converted.at(-1);
  const earlier = last?.['role'] === 'user' ? partsOf(last['content']) : null;
  if (earlier) converted.pop();
  converted.push({ role: 'user', content: chatContent([...(earlier ?? []), ...said]) });
}

/** Joins each run of user messages into one. */
export function joinUserMessages(messages: readonly JsonRecord[]): JsonRecord[] {
  const joined: JsonRecord[] = [];
  for (const message of messages) {
    if (message['role'] === 'user') addParts(joined, partsOf(message['content']));
    else joined.push(message);
  }
  return joined;
}

function partsOf(content: unknown): JsonRecord[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : records(content);
}

function toolMessage(
  block: JsonRecord,
  param: string,
): { message: JsonRecord; rest: JsonRecord[] } {
  const parts = contentParts(block['content'], `${param}.content`);
  const rest = parts.filter(({ type }) => type !== 'text');
  const said = parts
    .filter(({ type }) => type === 'text')
    .map((part) => text(part['text']) ?? '')
    .join('\n');
  const shown = said === '' && rest.length > 0 ? 'The result is in the next message.' : said;
  const content = block['is_error'] === true ? `Error: ${shown}` : shown;
  return {
    message: { role: 'tool', tool_call_id: chatToolId(text(block['tool_use_id']) ?? ''), content },
    rest,
  };
}

function assistantMessages(
  value: unknown,
  param: string,
  { returnsReasoning }: ConversationOptions,
): JsonRecord[] {
  const content = contentValue(value);
  if (typeof content === 'string') return content === '' ? [] : [{ role: 'assistant', content }];
  const blocks = records(content);
  const unknown = blocks.findIndex(
    ({ type }) =>
      type !== 'text' &&
      type !== 'thinking' &&
      type !== 'tool_use' &&
      !VENDOR_BLOCKS.test(wordOf(type)),
  );
  if (unknown !== -1)
    throw unsupported(
      `content of type "${wordOf(blocks[unknown]?.['type'])}"`,
      `${param}[${unknown}].type`,
    );
  const ofType = (type: string, field: string): string =>
    blocks.map((block) => (block['type'] === type ? (text(block[field]) ?? '') : '')).join('');
  const said = nonEmpty(ofType('text', 'text'));
  const reasoning = nonEmpty(ofType('thinking', 'thinking'));
  const calls = blocks.filter(({ type }) => type === 'tool_use').map(toolCall);
  if (said === null && calls.length === 0) return [];
  const thoughts =
    returnsReasoning && reasoning !== null && calls.length > 0
      ? { reasoning_content: reasoning }
      : {};
  return [
    {
      role: 'assistant',
      content: said,
      ...thoughts,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
  ];
}

function toolCall(block: JsonRecord): JsonRecord {
  const args = JSON.stringify(block['input'] ?? {});
  return {
    id: chatToolId(text(block['id']) ?? ''),
    type: 'function',
    function: { name: block['name'], arguments: args },
  };
}
