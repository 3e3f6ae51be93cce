import { InvalidRequest } from '../exchange.ts';
import { isRecord, list, nonEmpty, parseJson, record, records, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { isReusable } from '../translation/sealed-thinking.ts';
import { messagesToolId } from '../translation/tool-ids.ts';
import { unsupported } from '../errors/unsupported.ts';
import { thinkingBlock } from './beside-text.ts';
import { contentBlocks } from './content-blocks.ts';

export interface Conversation {
  system: JsonRecord[];
  messages: Turn[];
}

export interface Turn {
  role: 'user' | 'assistant' | 'system';
  content: JsonRecord[];
}

/** Converts chat messages to a system prompt and alternating turns (docs/translation.md#requests-chat-to-messages). */
export function conversation(
  chatMessages: readonly unknown[],
  { takesMidSystem }: { takesMidSystem: boolean },
): Conversation {
  const system: JsonRecord[] = [];
  const turns: Turn[] = [];
  chatMessages.forEach((item, index) => {
    const message = record(item);
    const param = `messages[${index}]`;
    const role = text(message['role']);
    if (role === 'system' || role === 'developer')
      addSystem(
        { system, turns, takesMidSystem },
        contentBlocks(message['content'], `${param}.content`),
      );
    else if (role === 'user')
      addTurn(turns, 'user', contentBlocks(message['content'], `${param}.content`));
    else if (role === 'assistant') addTurn(turns, 'assistant', assistantBlocks(message, param));
    else if (role === 'tool') addTurn(turns, 'user', [toolResult(message, param)]);
    else throw unsupported(`role "${role ?? ''}"`, `${param}.role`);
  });
  if (turns.length === 0)
    throw new InvalidRequest('messages: at least one message with content is required', {
      param: 'messages',
    });
  turns.forEach(
    (turn) =>
      turn.role === 'user' &&
      turn.content.sort((left, right) => resultsFirst(left) - resultsFirst(right)),
  );
  trimPrefill(turns);
  return { system, messages: turns };
}

/** Leading system messages are the prompt. Later ones keep their place where the model accepts them there; otherwise their text joins the user's turn. */
function addSystem(
  {
    system,
    turns,
    takesMidSystem,
  }: { system: JsonRecord[]; turns: Turn[]; takesMidSystem: boolean },
  blocks: JsonRecord[],
): void {
  if (turns.length === 0) system.push(...blocks);
  else if (takesMidSystem && turns.at(-1)?.role === 'user' && blocks.length > 0)
    turns.push({ role: 'system', content: blocks });
  else addTurn(turns, 'user', blocks);
}

/** Joins neighbouring turns of one role: parallel tool results must be in a single user message (Portkey#980). */
function addTurn(turns: Turn[], role: Turn['role'], blocks: JsonRecord[]): void {
  if (blocks.length === 0) return;
  const last = turns.at(-1);
  if (last?.role === role) last.content.push(...blocks);
  else turns.push({ role, content: blocks });
}

function resultsFirst(block: JsonRecord): number {
  return block['type'] === 'tool_result' ? 0 : 1;
}

function assistantBlocks(message: JsonRecord, param: string): JsonRecord[] {
  if (message['function_call'] !== undefined && message['function_call'] !== null)
    throw unsupported('function_call (use tool_calls)', `${param}.function_call`);
  const refusal = nonEmpty(message['refusal']);
  const calls = list(message['tool_calls']).map((call, index) =>
    toolUse(record(call), `${param}.tool_calls[${index}]`),
  );
  return [
    ...records(message['thinking_blocks']).filter(isReusable).map(thinkingBlock),
    ...contentBlocks(message['content'], `${param}.content`).filter(saysSomething),
    ...(refusal === null ? [] : [{ type: 'text', text: refusal }]),
    ...calls,
  ];
}

/** Returns whether a block has content. Anthropic refuses a blank text, which models write beside their tool calls. */
function saysSomething(block: JsonRecord): boolean {
  return block['type'] !== 'text' || text(block['text'])?.trim() !== '';
}

function toolUse(call: JsonRecord, param: string): JsonRecord {
  if (call['type'] === 'custom') throw unsupported('a custom tool call', param);
  const fn = record(call['function']);
  const id = nonEmpty(call['id']);
  const name = nonEmpty(fn['name']);
  if (id === null)
    throw new InvalidRequest(`${param}.id: Field required`, {
      param: `${param}.id`,
      code: 'missing_required_parameter',
    });
  if (name === null)
    throw new InvalidRequest(`${param}.function.name: Field required`, {
      param: `${param}.function.name`,
      code: 'missing_required_parameter',
    });
  return {
    type: 'tool_use',
    id: messagesToolId(id),
    name,
    input: toolInput(fn['arguments'], `${param}.function.arguments`),
  };
}

function toolInput(value: unknown, param: string): JsonRecord {
  const input = isRecord(value) ? value : parseJson(nonEmpty(value)?.trim() || '{}');
  if (isRecord(input)) return input;
  throw new InvalidRequest(`${param}: Expected the JSON text of an object`, { param });
}

function toolResult(message: JsonRecord, param: string): JsonRecord {
  const id = nonEmpty(message['tool_call_id']);
  if (id === null)
    throw new InvalidRequest(`${param}.tool_call_id: Field required`, {
      param: `${param}.tool_call_id`,
      code: 'missing_required_parameter',
    });
  const blocks = contentBlocks(message['content'], `${param}.content`);
  const cached = records(message['content']).length > 0 ? {} : cacheOf(message);
  return {
    type: 'tool_result',
    tool_use_id: messagesToolId(id),
    ...(blocks.length === 0 ? {} : { content: blocks }),
    ...cached,
  };
}

function cacheOf(message: JsonRecord): JsonRecord {
  return isRecord(message['cache_control']) ? { cache_control: message['cache_control'] } : {};
}

/** The model continues a final assistant turn; Anthropic refuses one that ends in blanks. */
function trimPrefill(turns: Turn[]): void {
  const last = turns.at(-1);
  const block = last?.role === 'assistant' ? last.content.at(-1) : undefined;
  const prefill = block?.['type'] === 'text' ? text(block['text']) : null;
  if (!last || !block || prefill === null || prefill === prefill.trimEnd()) return;
  last.content.pop();
  if (prefill.trim() !== '') last.content.push({ ...block, text: prefill.trimEnd() });
  if (last.content.length === 0) turns.pop();
}
