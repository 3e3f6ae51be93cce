import type { ClientProtocol, PromptFacts } from '../exchange.ts';
import { isRecord, list, record, records, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';

/** Fields whose text reaches the model, by protocol. Sampling knobs and metadata do not. */
const PROMPT_FIELDS: Record<ClientProtocol, readonly string[]> = {
  chat: ['messages', 'tools', 'functions', 'response_format', 'prediction'],
  messages: ['system', 'messages', 'tools', 'output_config', 'output_format'],
  embeddings: ['input'],
  responses: ['instructions', 'input', 'tools', 'text'],
};

/** Part types whose payload is no text, and whose tokens nothing in the request bounds. */
const UNBOUNDED_PARTS = new Set(['document', 'file', 'input_file', 'input_audio', 'video', 'video_url', 'container_upload', 'item_reference']);
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
    messageCount: protocol === 'responses' ? Math.max(1, list(body['input']).length) : list(body['messages']).length,
    imageCount: tally.imageCount,
    unboundedInputs: tally.unboundedInputs + (protocol === 'responses' ? 0 : serverTools(body)),
    text: () => (tallyPrompt(protocol, body, []).texts ?? []).join(' '),
  };
}

function tallyPrompt(protocol: ClientProtocol, body: JsonRecord, texts: string[] | null): Tally {
  const tally: Tally = { textBytes: 0, imageCount: 0, unboundedInputs: 0, texts };
  if (protocol === 'embeddings' && Array.isArray(body['input'])) addTokens(body['input'], tally);
  else for (const field of PROMPT_FIELDS[protocol]) walk(body[field], tally);
  return tally;
}

/** Every string and key counts, also of parts nobody knows yet: the bound may be too high, never too low. */
function walk(value: unknown, tally: Tally): void {
  if (typeof value === 'string') addText(value, tally);
  else if (typeof value === 'number' || typeof value === 'boolean') addText(String(value), tally);
  else if (Array.isArray(value)) for (const item of value) walk(item, tally);
  else if (isRecord(value)) walkRecord(value, tally);
}

function walkRecord(value: JsonRecord, tally: Tally): void {
  const type = text(value['type']);
  if (type !== null && IMAGE_PARTS.has(type)) return addImage(value, tally);
  if (type !== null && UNBOUNDED_PARTS.has(type)) return addUnbounded(value, tally);
  for (const [key, item] of Object.entries(value)) {
    if (key === 'type' || key === 'cache_control') continue;
    tally.textBytes += MEMBER_SYNTAX_BYTES;
    if (ENVELOPE_KEYS.has(key)) tally.textBytes += Buffer.byteLength(key);
    else addText(key, tally);
    if (key === 'role' && typeof item === 'string') tally.textBytes += Buffer.byteLength(item);
    else walk(item, tally);
  }
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
    } else walk(item, tally);
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
  if (part['type'] === 'document' && (source['type'] === 'text' || source['type'] === 'content')) walk(source, tally);
  else tally.unboundedInputs += 1;
}

/** /v1/responses passes none on: its hosted tools are refused or not offered. */
function serverTools(body: JsonRecord): number {
  const tools = records(body['tools']).filter(({ type }) => typeof type === 'string' && !CLIENT_TOOLS.has(type)).length;
  return tools + list(body['mcp_servers']).length + (isRecord(body['web_search_options']) ? 1 : 0);
}
