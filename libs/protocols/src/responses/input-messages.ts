import { InvalidRequest } from '../exchange.ts';
import { list, nonEmpty, record, records, text, wordOf } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { chatContent } from '../messages-to-chat/content-parts.ts';
import { addAssistant } from '../messages-to-chat/conversation.ts';
import { contentValue } from '../translation/content-value.ts';
import { unsealThinking } from '../translation/sealed-thinking.ts';
import { unsupported, unsupportedHere } from '../errors/unsupported.ts';
import { flatName } from './tool-registry.ts';

interface Turn {
  messages: JsonRecord[];
  /** Holds the thoughts that wait for their assistant message. */
  thoughts: { text: string; blocks: JsonRecord[] };
}

/** Converts /v1/responses input to chat messages. Neighbouring assistant text and calls become one message, as chat requires. */
export function inputMessages(instructions: unknown, input: unknown): JsonRecord[] {
  const start = nonEmpty(instructions);
  const turn: Turn = {
    messages: start === null ? [] : [{ role: 'system', content: start }],
    thoughts: { text: '', blocks: [] },
  };
  if (typeof input === 'string') turn.messages.push({ role: 'user', content: input });
  else spelledOut(list(input)).forEach(({ item, param }) => addItem(turn, item, param));
  return turn.messages;
}

/**
 * Returns the items without dispensable references. Nothing is stored here, so a reference to reasoning, or to text on the way to a tool call, is
 * omitted (the AI SDK sends such in every tool loop unless `store` is false); a reference to an answer is refused.
 */
function spelledOut(items: readonly unknown[]): { item: JsonRecord; param: string }[] {
  return items.flatMap((value, index) => {
    const item = record(value);
    const param = `input[${index}]`;
    if (item['type'] !== 'item_reference') return [{ item, param }];
    const next = items
      .slice(index)
      .map(record)
      .find(({ type }) => type !== 'item_reference');
    const isOnTheWay = next?.['type'] === 'function_call' || next?.['type'] === 'custom_tool_call';
    if (isOnTheWay || text(item['id'])?.startsWith('rs_')) return [];
    throw unsupportedHere(
      'a reference to a stored item',
      param,
      'nothing is stored; send the item itself, with store false',
    );
  });
}

function addItem(turn: Turn, item: JsonRecord, param: string): void {
  const type = text(item['type']) ?? 'message';
  switch (type) {
    case 'message':
      return addMessage(turn, item, param);
    case 'function_call':
      return addCall(turn, item, { param, args: text(item['arguments']) ?? '' });
    case 'custom_tool_call':
      return addCall(turn, item, {
        param,
        args: JSON.stringify({ input: text(item['input']) ?? '' }),
      });
    case 'function_call_output':
    case 'custom_tool_call_output':
      turn.messages.push({
        role: 'tool',
        tool_call_id: requiredField(item, 'call_id', param),
        content: outputContent(item['output'], `${param}.output`),
      });
      return;
    case 'reasoning':
      return addThoughts(turn, item);
    default:
      throw unsupported(`an input item of type "${type}"`, `${param}.type`);
  }
}

function addMessage(turn: Turn, item: JsonRecord, param: string): void {
  const role = text(item['role']);
  if (role === null)
    throw new InvalidRequest(`${param}.role: Field required`, {
      param: `${param}.role`,
      code: 'missing_required_parameter',
    });
  const said = contentValue(item['content']);
  const content = typeof said === 'string' ? said : contentParts(list(said), `${param}.content`);
  if (role !== 'assistant')
    turn.messages.push({
      role,
      content: typeof content === 'string' ? content : chatContent(content),
    });
  else
    addAssistant(turn.messages, {
      role,
      content: typeof content === 'string' ? content : joinedText(content),
      ...takeThoughts(turn),
    });
}

function addCall(
  turn: Turn,
  item: JsonRecord,
  { param, args }: { param: string; args: string },
): void {
  const call = {
    id: text(item['call_id']) ?? '',
    type: 'function',
    function: {
      name: flatName(requiredField(item, 'name', param), text(item['namespace'])),
      arguments: args,
    },
  };
  addAssistant(turn.messages, {
    role: 'assistant',
    content: null,
    tool_calls: [call],
    ...takeThoughts(turn),
  });
}

/** Adds the reasoning of a past turn: the readable summary and, where this gateway sealed it, an Anthropic model's own signed thinking. */
function addThoughts({ thoughts }: Turn, item: JsonRecord): void {
  const said = [...records(item['content']), ...records(item['summary'])]
    .map((part) => text(part['text']) ?? '')
    .join('\n');
  thoughts.text += said;
  const block = unsealThinking(item['encrypted_content']);
  if (block) thoughts.blocks.push(block);
}

function takeThoughts(turn: Turn): JsonRecord {
  const { text: said, blocks } = turn.thoughts;
  turn.thoughts = { text: '', blocks: [] };
  return {
    ...(said === '' ? {} : { reasoning_content: said }),
    ...(blocks.length === 0 ? {} : { thinking_blocks: blocks }),
  };
}

function requiredField(item: JsonRecord, name: string, param: string): string {
  const value = nonEmpty(item[name]);
  if (value === null)
    throw new InvalidRequest(`${param}.${name}: Field required`, {
      param: `${param}.${name}`,
      code: 'missing_required_parameter',
    });
  return value;
}

function outputContent(value: unknown, param: string): string | JsonRecord[] {
  const output = contentValue(value);
  return typeof output === 'string' ? output : contentParts(list(output), param);
}

function contentParts(parts: readonly unknown[], param: string): JsonRecord[] {
  return parts.map((item, index) => contentPart(record(item), `${param}[${index}]`));
}

function contentPart(part: JsonRecord, param: string): JsonRecord {
  switch (part['type']) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: text(part['text']) ?? '' };
    case 'refusal':
      return { type: 'text', text: text(part['refusal']) ?? '' };
    case 'input_image':
      return imagePart(part, param);
    case 'input_file':
      return filePart(part, param);
    default:
      throw unsupported(`content of type "${wordOf(part['type'])}"`, `${param}.type`);
  }
}

function imagePart(part: JsonRecord, param: string): JsonRecord {
  const url = nonEmpty(part['image_url']);
  if (url === null)
    throw unsupportedHere(
      'an image by file id',
      `${param}.file_id`,
      'no files are stored; send it inline or by URL',
    );
  const detail = nonEmpty(part['detail']);
  return { type: 'image_url', image_url: { url, ...(detail === null ? {} : { detail }) } };
}

function filePart(part: JsonRecord, param: string): JsonRecord {
  const data = nonEmpty(part['file_data']);
  if (data === null) throw unsupported('a file by id or URL', param);
  return {
    type: 'file',
    file: { filename: text(part['filename']) ?? 'document.pdf', file_data: data },
  };
}

function joinedText(parts: readonly JsonRecord[]): string {
  return parts.map((part) => text(part['text']) ?? '').join('');
}
