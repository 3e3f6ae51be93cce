import type { ClientProtocol, PromptFacts } from '../exchange.ts';
import { isRecord, list, record, records, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';

/** Fields whose text reaches the model, by protocol; vLLM's own among them. Sampling knobs and metadata do not. */
const PROMPT_FIELDS: Record<ClientProtocol, readonly string[]> = {
  chat: [
    'messages',
    'tools',
    'functions',
    'response_format',
    'prediction',
    'documents',
    'chat_template',
    'chat_template_kwargs',
  ],
  messages: ['system', 'messages', 'tools', 'output_config', 'output_format'],
  embeddings: ['input'],
  responses: ['instructions', 'input', 'tools', 'text'],
};

/** Part types whose payload is no text, and whose tokens nothing in the request bounds. */
const UNBOUNDED_PARTS = new Set([
  'document',
  'file',
  'input_file',
  'input_audio',
  'video',
  'video_url',
  'container_upload',
  'item_reference',
]);
const IMAGE_PARTS = new Set(['image', 'image_url', 'input_image']);
/** Tools that run at the client: only their definitions cost tokens. */
const CLIENT_TOOLS = new Set(['function', 'custom', 'namespace']);

/** How a message is wrapped, not what it says: in the bound, but not in the text that stands for the prompt where the upstream reported nothing. */
const ENVELOPE_KEYS = new Set(['role', 'content', 'text']);

/** `"":,` around a key and its value, where definitions are rendered as JSON. */
const MEMBER_SYNTAX_BYTES = 4;

interface Tally {
  textBytes: number;
  imageCount: number;
  unboundedInputs: number;
  /** Collects the texts, only when they are asked for. */
  texts: string[] | null;
}

export function promptFacts(protocol: ClientProtocol, body: JsonRecord): PromptFacts {
  const tally = tallyPrompt(protocol, body, null);
  return {
    textBytes: tally.textBytes,
    messageCount:
      protocol === 'responses'
        ? Math.max(1, list(body['input']).length)
        : list(body['messages']).length,
    imageCount: tally.imageCount,
    unboundedInputs: tally.unboundedInputs + (protocol === 'responses' ? 0 : serverTools(body)),
    text: () => (tallyPrompt(protocol, body, []).texts ?? []).join(' '),
  };
}

function tallyPrompt(protocol: ClientProtocol, body: JsonRecord, texts: string[] | null): Tally {
  const tally: Tally = { textBytes: 0, imageCount: 0, unboundedInputs: 0, texts };
  if (protocol === 'embeddings' && Array.isArray(body['input'])) addTokens(body['input'], tally);
  else
    for (const field of PROMPT_FIELDS[protocol])
      walk(body[field], tally, FIELD_PARTS[field] ?? 'none');
  return tally;
}

/**
 * Where parts may stand: in this very list, in a list further inside, or nowhere. Whatever else says it is an image or a file, as a tool's
 * schema or arguments may, is JSON the model reads as text: taken for a part it would be a prompt nobody counts.
 */
type Parts = 'items' | 'inside' | 'none';
/** Lists of parts within messages, system blocks, tool results and documents. */
const PART_LISTS = new Set(['content', 'output', 'images']);
const FIELD_PARTS: Readonly<Record<string, Parts>> = {
  messages: 'inside',
  system: 'items',
  input: 'inside',
};
/** No vendor's type or role is longer; what is, is text in disguise. */
const WRAPPING_CHARS_MAX = 64;

/** Every string and key counts, also of parts nobody knows yet: the bound may be too high, never too low. */
function walk(value: unknown, tally: Tally, parts: Parts): void {
  if (typeof value === 'string') addText(value, tally);
  else if (typeof value === 'number' || typeof value === 'boolean') addText(String(value), tally);
  else if (Array.isArray(value)) for (const item of value) walkItem(item, tally, parts);
  else if (isRecord(value)) walkRecord(value, tally, parts);
}

function walkItem(item: unknown, tally: Tally, parts: Parts): void {
  const type = parts === 'items' && isRecord(item) ? text(item['type']) : null;
  if (type !== null && IMAGE_PARTS.has(type)) addImage(record(item), tally);
  else if (type !== null && UNBOUNDED_PARTS.has(type)) addUnbounded(record(item), tally);
  else walk(item, tally, parts === 'items' ? 'inside' : parts);
}

function walkRecord(value: JsonRecord, tally: Tally, parts: Parts): void {
  for (const [key, item] of Object.entries(value)) {
    if (parts !== 'none' && isWrapping(key, item)) continue;
    tally.textBytes += MEMBER_SYNTAX_BYTES;
    if (ENVELOPE_KEYS.has(key)) tally.textBytes += Buffer.byteLength(key);
    else addText(key, tally);
    if (key === 'role' && typeof item === 'string' && item.length <= WRAPPING_CHARS_MAX)
      tally.textBytes += Buffer.byteLength(item);
    else walk(item, tally, parts !== 'none' && PART_LISTS.has(key) ? 'items' : 'none');
  }
}

/** What marks a message or part and is no text of it. */
function isWrapping(key: string, item: unknown): boolean {
  if (key === 'type') return typeof item === 'string' && item.length <= WRAPPING_CHARS_MAX;
  return key === 'cache_control' && JSON.stringify(item).length <= WRAPPING_CHARS_MAX;
}

function addText(value: string, tally: Tally): void {
  tally.textBytes += Buffer.byteLength(value);
  tally.texts?.push(value);
}

/** Token arrays: one each, exactly. `0` stands for a token where text is asked for. */
function addTokens(tokens: readonly unknown[], tally: Tally): void {
  for (const item of tokens) {
    if (Array.isArray(item)) addTokens(item, tally);
    else if (typeof item === 'number') {
      tally.textBytes += 1;
      tally.texts?.push('0');
    } else walk(item, tally, 'none');
  }
}

function addImage(part: JsonRecord, tally: Tally): void {
  const source = record(part['source']);
  const url = text(part['image_url']) ?? text(record(part['image_url'])['url']);
  if (source['type'] === 'base64' || url?.startsWith('data:')) tally.imageCount += 1;
  else tally.unboundedInputs += 1;
}

function addUnbounded(part: JsonRecord, tally: Tally): void {
  const source = record(part['source']);
  if (part['type'] === 'document' && (source['type'] === 'text' || source['type'] === 'content'))
    walk(source, tally, 'inside');
  else tally.unboundedInputs += 1;
}

/** /v1/responses passes none on: its hosted tools are refused or not offered. */
function serverTools(body: JsonRecord): number {
  const tools = records(body['tools']).filter(
    ({ type }) => typeof type === 'string' && !CLIENT_TOOLS.has(type),
  ).length;
  return tools + list(body['mcp_servers']).length + (isRecord(body['web_search_options']) ? 1 : 0);
}
