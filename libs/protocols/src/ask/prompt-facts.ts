import { isSealedId } from '@tollgate/contracts';
import type { ClientProtocol, ImageInput, PromptFacts } from '../exchange.ts';
import { CLIENT_BODIES, FIELD_TABLES } from '../fields/client-bodies.ts';
import { foldName } from '../fields/fold-name.ts';
import type { FoundField, ServerTool } from '../fields/found-field.ts';
import { refuseVariant } from '../fields/read-fields.ts';
import { callsAllowed, offeredTools } from '../fields/server-tools.ts';
import { isRecord, list, nonEmpty, record, records, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import type { JsonLayout, JsonMember } from '../json/json-layout.ts';
import { isItemReference } from './item-reference.ts';
import { imageInput } from './image-input.ts';
import {
  AUDIO_PARTS,
  hasMedia,
  IMAGE_PARTS,
  refersElsewhere,
  TEXT_PART,
  UNBOUNDED_PARTS,
} from './part-kinds.ts';

/** Lists the top-level members whose text reaches the model, by protocol. */
const PROMPT_FIELDS = Object.fromEntries(
  Object.entries(FIELD_TABLES).map(([protocol, table]) => [
    protocol,
    Object.keys(table).filter((name) => table[name] === 'prompt'),
  ]),
);
/** Lists the members of each protocol's table; an upstream that knows any other member may read it as prompt. */
const KNOWN_FIELDS = Object.fromEntries(
  Object.entries(FIELD_TABLES).map(([protocol, table]) => [
    protocol,
    new Set(Object.keys(table).filter((name) => table[name] !== 'envelope')),
  ]),
);

/** These members wrap a message and are not part of its text: they count in the bound, but not in the text that replaces a missing usage report. */
const ENVELOPE_KEYS = new Set(['role', 'content', 'text']);

const COMPACTION = /^compact/i;
/** Bounds the tokens of a summary, which the answer's limit does not bound. No provider states a maximum; the example in Anthropic's documentation has 3,500. */
const SUMMARY_TOKENS = 8_192;

/** A key and its value cost `"":,` where definitions are rendered as JSON. */
const MEMBER_SYNTAX_BYTES = 4;

interface Tally {
  textBytes: number;
  images: ImageInput[];
  unboundedInputs: number;
  audioBytes: number;
  /** Collects the texts only when they are requested. */
  texts: string[] | null;
}

/** Holds a body, the positions of its members, the fields that its protocol's table names, and the provider tools that it requests. */
export interface ReadBody {
  body: JsonRecord;
  layout: JsonLayout;
  fields: readonly FoundField[];
  tools: readonly ServerTool[];
}

export function promptFacts(
  protocol: ClientProtocol,
  { body, layout, fields, tools }: ReadBody,
): PromptFacts {
  const tally = tallyPrompt(protocol, body, null);
  const known = KNOWN_FIELDS[protocol];
  const offered = offeredTools(body, tools);
  const serverToolUses = tools.reduce((uses, tool) => uses + tool.uses, 0);
  const compactions = asksToCompact(body) ? 1 : 0;
  // The provider decides before each round whether to shorten the conversation, and each use of a provider tool begins a round.
  const summaries = compactions * (1 + serverToolUses);
  return {
    textBytes: tally.textBytes,
    messageCount: messagesOf(protocol, body),
    imageCount: tally.images.length,
    images: tally.images,
    ownTools: offered.own,
    vendorTools: offered.vendors,
    unboundedInputs:
      tally.unboundedInputs + fields.filter(({ role }) => role === 'reference').length,
    serverToolUses,
    ...callsAllowed(tools),
    compactions,
    otherBytes: tally.audioBytes + bytesOf(layout, ({ key }) => known?.has(key) !== true),
    predictedBytes:
      summaries * SUMMARY_TOKENS +
      bytesOf(layout, ({ key }) =>
        fields.some(({ role, path: [top] }) => role === 'predicted' && top === key),
      ),
    text: () => (tallyPrompt(protocol, body, []).texts ?? []).join(' '),
  };
}

/** Counts the units that a template wraps: messages, items, or the inputs of embeddings. A list of tokens is one input. */
function messagesOf(protocol: ClientProtocol, body: JsonRecord): number {
  const { turns: field } = CLIENT_BODIES[protocol];
  const turns = list(body[field]);
  if (field !== 'messages' && (turns.length === 0 || typeof turns[0] === 'number')) return 1;
  return turns.length;
}

/** Responses have a list of edits, messages an object that contains one. */
function asksToCompact({ context_management: asked }: JsonRecord): boolean {
  const edits = Array.isArray(asked) ? asked : list(record(asked)['edits']);
  return edits.some((edit) => COMPACTION.test(text(record(edit)['type']) ?? ''));
}

function bytesOf(layout: JsonLayout, isCounted: (member: JsonMember) => boolean): number {
  return layout.members
    .filter(isCounted)
    .reduce((bytes, { keyStart, valueEnd }) => bytes + valueEnd - keyStart, 0);
}

function tallyPrompt(protocol: ClientProtocol, body: JsonRecord, texts: string[] | null): Tally {
  const tally: Tally = { textBytes: 0, images: [], unboundedInputs: 0, audioBytes: 0, texts };
  const { turns, takesTokens } = CLIENT_BODIES[protocol];
  for (const field of PROMPT_FIELDS[protocol] ?? []) {
    const value = body[field];
    if (takesTokens && field === turns && Array.isArray(value)) addTokens(value, tally);
    else walk(value, tally, FIELD_PARTS[field] ?? 'none');
  }
  if (protocol === 'responses') for (const item of records(body['input'])) addStored(item, tally);
  return tally;
}

/** The provider reads the object that an input item names from its own store. Unsealed ids come from translated answers, which no provider stores. */
function addStored(item: JsonRecord, tally: Tally): void {
  if (isItemReference(item) && isSealedId(text(item['id']) ?? '')) tally.unboundedInputs += 1;
  if (item['type'] === 'image_generation_call' && nonEmpty(item['result']) === null)
    tally.images.push({ size: null, detail: null });
}

/**
 * Says where parts may occur: in this list, in a list further inside, or nowhere. Another object that calls itself an image or a file, such as a
 * tool's schema or arguments, is JSON that the model reads as text: as a part it would be an uncounted prompt.
 */
type Parts = 'items' | 'inside' | 'none';
/** Lists the lists of parts within messages, system blocks, tool results and documents. */
const PART_LISTS = new Set(['content', 'output', 'images']);
const FIELD_PARTS: Readonly<Record<string, Parts>> = {
  messages: 'inside',
  system: 'items',
  input: 'inside',
};
/** Lists the names that identify parts and their sources; with other letter case only some upstreams would recognise the part. */
const STRUCTURE_NAMES = new Map(
  [
    'audio',
    'content',
    'data',
    'file',
    'file_data',
    'file_id',
    'image_url',
    'images',
    'input_audio',
    'media_type',
    'output',
    'role',
    'source',
    'text',
    'type',
    'url',
  ].map((name) => [name, name]),
);
/** No vendor's type or role is longer; a longer one is disguised text. */
const WRAPPING_CHARS_MAX = 64;

/** Every string and key counts, also in unknown parts: the bound may be too high but never too low. */
function walk(value: unknown, tally: Tally, parts: Parts): void {
  if (typeof value === 'string') addText(value, tally);
  else if (typeof value === 'number' || typeof value === 'boolean') addText(String(value), tally);
  else if (Array.isArray(value)) for (const item of value) walkItem(item, tally, parts);
  else if (isRecord(value)) walkRecord(value, tally, parts);
}

function walkItem(item: unknown, tally: Tally, parts: Parts): void {
  const type = parts === 'items' && isRecord(item) ? text(item['type']) : null;
  if (type !== null && IMAGE_PARTS.has(type)) addImage(record(item), tally);
  else if (type !== null && AUDIO_PARTS.has(type)) addAudio(record(item), tally);
  else if (type !== null && UNBOUNDED_PARTS.has(type)) addUnbounded(record(item), tally);
  else {
    if (type !== null && (TEXT_PART.test(type) ? hasMedia(type, item) : refersElsewhere(item)))
      tally.unboundedInputs += 1;
    walk(item, tally, parts === 'items' ? 'inside' : parts);
  }
}

function walkRecord(value: JsonRecord, tally: Tally, parts: Parts): void {
  for (const key in value) {
    const item = value[key];
    if (parts !== 'none') {
      refuseVariant(key, STRUCTURE_NAMES);
      if (isWrapping(key, item)) continue;
      // The provider stores an audio answer.
      if (key === 'audio' && isRecord(item) && 'id' in item) tally.unboundedInputs += 1;
    }
    tally.textBytes += MEMBER_SYNTAX_BYTES;
    if (ENVELOPE_KEYS.has(key)) tally.textBytes += Buffer.byteLength(key);
    else addText(key, tally);
    if (key === 'role' && typeof item === 'string' && item.length <= WRAPPING_CHARS_MAX)
      tally.textBytes += Buffer.byteLength(item);
    else if (parts !== 'none' && PART_LISTS.has(key) && isRecord(item)) addLone(item, tally);
    else walk(item, tally, parts !== 'none' && PART_LISTS.has(key) ? 'items' : 'none');
  }
}

/** A translation reads a lone object in place of parts as text, and some upstreams read it as a part whatever its type's spelling: it counts as both. */
function addLone(item: JsonRecord, tally: Tally): void {
  const member = (name: string): unknown =>
    Object.entries(item).find(([key]) => foldName(key) === name)?.[1];
  addText(JSON.stringify(item), tally);
  const type = text(member('type'));
  if (type !== null && IMAGE_PARTS.has(type)) addImage(item, tally);
  const isUnbounded = type !== null && (UNBOUNDED_PARTS.has(type) || AUDIO_PARTS.has(type));
  if (isUnbounded || member('file_id') !== undefined) tally.unboundedInputs += 1;
  else countParts(member('content'), tally);
}

/** Counts only parts, such as those of a page that a provider fetched; their text was counted with the containing object. */
function countParts(value: unknown, tally: Tally): void {
  for (const part of isRecord(value) ? [value] : records(value)) {
    const type = text(part['type']) ?? '';
    if (IMAGE_PARTS.has(type)) addImage(part, tally);
    else if (isInlineDocument(part)) countParts(record(part['source'])['content'], tally);
    else if (UNBOUNDED_PARTS.has(type) || AUDIO_PARTS.has(type)) tally.unboundedInputs += 1;
    else countParts(part['content'], tally);
  }
}

/** Returns true when the request contains the text, or the parts, of a document. */
function isInlineDocument(part: JsonRecord): boolean {
  const { type } = record(part['source']);
  return part['type'] === 'document' && (type === 'text' || type === 'content');
}

/** Returns whether a member marks a message or part and is not part of its text. */
function isWrapping(key: string, item: unknown): boolean {
  if (key === 'type') return typeof item === 'string' && item.length <= WRAPPING_CHARS_MAX;
  return key === 'cache_control' && JSON.stringify(item).length <= WRAPPING_CHARS_MAX;
}

function addText(value: string, tally: Tally): void {
  tally.textBytes += Buffer.byteLength(value);
  tally.texts?.push(value);
}

/** Counts each element of a token array as one token. `0` represents a token where text is requested. */
function addTokens(tokens: readonly unknown[], tally: Tally): void {
  for (const item of tokens) {
    if (Array.isArray(item)) addTokens(item, tally);
    else if (typeof item === 'number') {
      tally.textBytes += 1;
      tally.texts?.push('0');
    } else walk(item, tally, 'none');
  }
}

const MEDIA_TYPE = /^data:([^;,]*)/;

/** Providers scale images and so bound their tokens; a data URL may hold other data. */
function addImage(part: JsonRecord, tally: Tally): void {
  const url = text(part['image_url']) ?? text(record(part['image_url'])['url']) ?? '';
  const mediaType = MEDIA_TYPE.exec(url)?.[1] ?? 'image/*';
  if (mediaType.toLowerCase().startsWith('image/')) tally.images.push(imageInput(part));
  else tally.unboundedInputs += 1;
}

/** A second of audio is a few dozen tokens and at least a thousand bytes, so a byte is never a whole token. */
function addAudio(part: JsonRecord, tally: Tally): void {
  if (refersElsewhere(part)) tally.unboundedInputs += 1;
  else tally.audioBytes += JSON.stringify(part).length;
}

function addUnbounded(part: JsonRecord, tally: Tally): void {
  if (isInlineDocument(part)) walk(part['source'], tally, 'inside');
  else tally.unboundedInputs += 1;
}
