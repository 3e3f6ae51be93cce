import type { ClientProtocol } from '../exchange.ts';
import { CLIENT_BODIES } from '../fields/client-bodies.ts';
import { isRecord, list, nonEmpty, record, records, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { DATA_URL, imageData } from './image-input.ts';
import { imageSize } from './image-size.ts';
import type { ImageSize } from './image-size.ts';

/** Holds a prompt in parts that providers render differently, for an estimate of its tokens. */
export interface PromptParts {
  /** Holds the system prompt, messages and results. */
  texts: string[];
  /** Holds the definitions of tools and of an output format, as JSON. */
  tools: string[];
  /** Holds the names and arguments of calls in the history. */
  calls: string[];
  /** Is the number of messages, the system prompt included. */
  messages: number;
  /** null means that the request does not contain the size. */
  images: (ImageSize | null)[];
  /** Counts the pages of PDFs in the request; one for a document elsewhere. */
  pages: number;
}

/** Reads a parsed body; unknown content counts as text. */
export function promptParts(protocol: ClientProtocol, body: JsonRecord): PromptParts {
  const parts: PromptParts = {
    texts: [],
    tools: [],
    calls: [],
    messages: 0,
    images: [],
    pages: 0,
  };
  const { turns, instructions } = CLIENT_BODIES[protocol];
  if (instructions !== null) addInstructions(parts, body[instructions]);
  if (protocol === 'completions')
    parts.texts.push(...texts(body['prompt']), ...texts(body['suffix']));
  else if (typeof body[turns] === 'string') addMessage(parts, { content: body[turns] });
  else addTurns(parts, records(body[turns]));
  for (const tool of records(body['tools']))
    parts.tools.push(JSON.stringify(tool['function'] ?? tool));
  const format = body['response_format'] ?? record(body['output_config'])['format'];
  if (isRecord(format) && format['type'] === 'json_schema')
    parts.tools.push(JSON.stringify(format['json_schema'] ?? format['schema']));
  return parts;
}

function texts(value: unknown): string[] {
  return (typeof value === 'string' ? [value] : list(value)).flatMap((item) => text(item) ?? []);
}

function addInstructions(parts: PromptParts, system: unknown): void {
  if (nonEmpty(system) === null && list(system).length === 0) return;
  parts.messages += 1;
  addContent(parts, system);
}

function addMessage(parts: PromptParts, message: JsonRecord): void {
  parts.messages += 1;
  addContent(parts, message['content'] ?? message['output']);
  const called = records(message['tool_calls']).map((call) => record(call['function']));
  for (const { name, arguments: args } of called) addCall(parts, name, args);
  if (message['type'] === 'function_call') addCall(parts, message['name'], message['arguments']);
}

/** Templates keep the thinking of the continuing turn, after the user's last message, and omit earlier thinking. */
function addTurns(parts: PromptParts, turns: readonly JsonRecord[]): void {
  const asked = turns.findLastIndex(({ role }) => role === 'user');
  turns.forEach((turn, at) => {
    addMessage(parts, turn);
    const thinking =
      nonEmpty(turn['reasoning_content']) ??
      nonEmpty(turn['reasoning']) ??
      nonEmpty(blocksText(turn['thinking_blocks']));
    if (at > asked && thinking !== null) parts.texts.push(thinking);
  });
}

function blocksText(blocks: unknown): string {
  return records(blocks)
    .map((block) => text(block['thinking']) ?? '')
    .join('');
}

function addCall(parts: PromptParts, name: unknown, args: unknown): void {
  const input = typeof args === 'string' ? args : JSON.stringify(args ?? {});
  parts.calls.push(`${text(name) ?? ''} ${input}`);
}

function addContent(parts: PromptParts, content: unknown): void {
  if (typeof content === 'string') parts.texts.push(content);
  else if (isRecord(content)) parts.texts.push(JSON.stringify(content));
  else for (const part of list(content)) addPart(parts, record(part));
}

function addPart(parts: PromptParts, part: JsonRecord): void {
  const type = text(part['type']) ?? '';
  if (type === 'image' || type === 'image_url' || type === 'input_image')
    parts.images.push(imageSize(imageData(part)));
  else if (type === 'document' || type === 'file' || type === 'input_file')
    parts.pages += pagesOf(part);
  else if (type === 'tool_use') addCall(parts, part['name'], part['input']);
  else if (type === 'tool_result') addContent(parts, part['content']);
  else parts.texts.push(nonEmpty(part['text']) ?? nonEmpty(part['thinking']) ?? '');
}

const PAGE = /\/Type\s*\/Page[^s]/g;
/** The pages of a PDF are searched in this many characters. */
const PDF_CHARS_MAX = 8 * 2 ** 20;

function pagesOf(part: JsonRecord): number {
  const source = record(part['source']);
  const file = text(record(part['file'])['file_data']) ?? text(part['file_data']);
  const data = source['type'] === 'base64' ? text(source['data']) : file?.replace(DATA_URL, '');
  if (!data) return 1;
  const bytes = Buffer.from(data.slice(0, PDF_CHARS_MAX), 'base64').toString('latin1');
  return Math.max(1, bytes.match(PAGE)?.length ?? 0);
}
