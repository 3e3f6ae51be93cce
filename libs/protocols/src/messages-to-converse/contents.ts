import { unsupported } from '../errors/unsupported.ts';
import { list, nonEmpty, record, text, wordOf, type JsonRecord } from '../json/json-guard.ts';
import { systemText } from '../messages-to-chat/content-parts.ts';
import { contentValue } from '../translation/content-value.ts';

/** Matches parts of an assistant turn that only their own vendor can use again. */
const FOREIGN_BLOCKS =
  /^(?:compaction|fallback|container_upload|server_tool_use|mcp_tool_use|[a-z_]+_tool_result)$/;
const IMAGE_FORMATS: ReadonlySet<string> = new Set(['png', 'jpeg', 'gif', 'webp']);
/** See https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html */
const DOCUMENT_FORMATS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/plain': 'txt',
  'text/html': 'html',
  'text/csv': 'csv',
  'text/markdown': 'md',
};
/** A document needs a name without these characters. */
const FOREIGN_NAME_CHARS = /[^A-Za-z0-9 ()[\]-]+/g;
const NAME_CHARS_MAX = 200;

export interface ContentOptions {
  /** Is true when the model may have signed the thoughts of earlier turns, and requires them back. */
  keepsThoughts: boolean;
}

/** Converts a messages conversation to Converse's; neighbours of one role become one. Throws `InvalidRequest` naming content without a counterpart. */
export function converseMessages(
  messages: readonly unknown[],
  options: ContentOptions,
): JsonRecord[] {
  const turns: { role: string; content: JsonRecord[] }[] = [];
  messages.forEach((item, index) => {
    const { role, content } = record(item);
    const param = `messages[${index}]`;
    if (role !== 'user' && role !== 'assistant' && role !== 'system')
      throw unsupported(`role "${wordOf(role)}"`, `${param}.role`);
    const blocks = converseBlocks(content, `${param}.content`, options);
    const speaker = role === 'assistant' ? 'assistant' : 'user';
    const last = turns.at(-1);
    if (blocks.length === 0) return;
    if (last?.role === speaker) last.content.push(...blocks);
    else turns.push({ role: speaker, content: blocks });
  });
  return turns;
}

/** Converts content blocks, each followed by a cache point where the client asks for one. */
function converseBlocks(value: unknown, param: string, options: ContentOptions): JsonRecord[] {
  const content = contentValue(value);
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : list(content);
  return blocks.flatMap((item, index) => {
    const block = record(item);
    const made = blockOf(block, `${param}[${index}]`, options);
    return made.length === 0 ? [] : [...made, ...cachePoint(block)];
  });
}

/** See https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CachePointBlock.html */
export function cachePoint(block: JsonRecord): JsonRecord[] {
  const { type, ttl } = record(block['cache_control']);
  if (type !== 'ephemeral') return [];
  return [{ cachePoint: { type: 'default', ...(ttl === '1h' ? { ttl } : {}) } }];
}

function blockOf(block: JsonRecord, param: string, options: ContentOptions): JsonRecord[] {
  const type = wordOf(block['type']);
  switch (type) {
    case 'text':
      return nonEmpty(block['text']) === null ? [] : [{ text: block['text'] }];
    case 'image':
      return [imageBlock(record(block['source']), `${param}.source`)];
    case 'document':
      return [documentBlock(block, `${param}.source`)];
    case 'search_result':
      return [{ text: systemText(block['content'], `${param}.content`) }];
    case 'tool_use':
      return [
        {
          toolUse: { toolUseId: block['id'], name: block['name'], input: record(block['input']) },
        },
      ];
    case 'tool_result':
      return [resultBlock(block, param, options)];
    case 'thinking':
    case 'redacted_thinking':
      return options.keepsThoughts ? thoughtBlock(block) : [];
    default:
      if (FOREIGN_BLOCKS.test(type)) return [];
      throw unsupported(`content of type "${type}"`, `${param}.type`);
  }
}

function imageBlock(source: JsonRecord, param: string): JsonRecord {
  if (source['type'] !== 'base64')
    throw unsupported(`content by ${wordOf(source['type'])}`, `${param}.type`);
  const format = wordOf(source['media_type'])
    .replace(/^image\//, '')
    .replace(/^jpg$/, 'jpeg');
  if (!IMAGE_FORMATS.has(format))
    throw unsupported(`an image of type "${format}"`, `${param}.media_type`);
  return { image: { format, source: { bytes: source['data'] } } };
}

function documentBlock(block: JsonRecord, param: string): JsonRecord {
  const source = record(block['source']);
  if (source['type'] === 'content') return { text: systemText(source['content'], param) };
  if (source['type'] === 'text') return { text: source['data'] };
  if (source['type'] !== 'base64')
    throw unsupported(`content by ${wordOf(source['type'])}`, `${param}.type`);
  const mediaType = wordOf(source['media_type']);
  const format = DOCUMENT_FORMATS[mediaType];
  if (format === undefined)
    throw unsupported(`a document of type "${mediaType}"`, `${param}.media_type`);
  const title = (text(block['title']) ?? '').replaceAll(FOREIGN_NAME_CHARS, ' ').trim();
  const name = title.slice(0, NAME_CHARS_MAX).trim() || 'document';
  return { document: { format, name, source: { bytes: source['data'] } } };
}

function resultBlock(block: JsonRecord, param: string, options: ContentOptions): JsonRecord {
  const shown = converseBlocks(block['content'] ?? '', `${param}.content`, options).filter(
    (each) => each['cachePoint'] === undefined,
  );
  return {
    toolResult: {
      toolUseId: block['tool_use_id'],
      content: shown.length === 0 ? [{ text: ' ' }] : shown,
      ...(block['is_error'] === true ? { status: 'error' } : {}),
    },
  };
}

/** A thought without a signature is useless to its model. */
function thoughtBlock(block: JsonRecord): JsonRecord[] {
  if (block['type'] === 'redacted_thinking')
    return [{ reasoningContent: { redactedContent: block['data'] } }];
  const signature = nonEmpty(block['signature']);
  return signature === null
    ? []
    : [{ reasoningContent: { reasoningText: { text: block['thinking'], signature } } }];
}
