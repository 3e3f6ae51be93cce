import { InvalidRequest } from '../exchange.ts';
import { isRecord, list, nonEmpty, record, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { contentValue } from '../translation/content-value.ts';
import { unsupported } from '../errors/unsupported.ts';

/** See https://platform.claude.com/docs/en/build-with-claude/vision */
const IMAGE_TYPES = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

/** Converts a chat message's content to content blocks. Empty texts are dropped, because Anthropic refuses them. */
export function contentBlocks(value: unknown, param: string): JsonRecord[] {
  const content = contentValue(value);
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return list(content).flatMap((part, index) => partBlocks(part, `${param}[${index}]`));
}

function partBlocks(part: unknown, param: string): JsonRecord[] {
  if (typeof part === 'string') return part === '' ? [] : [{ type: 'text', text: part }];
  if (!isRecord(part)) throw new InvalidRequest(`${param}: Expected an object`, { param });
  const type = text(part['type']);
  if (type === 'text') return textBlock(part['text'], part);
  if (type === 'refusal') return textBlock(part['refusal'], part);
  if (type === 'image_url') return [{ ...imageBlock(part, param), ...cacheControl(part) }];
  if (type === 'file')
    return [
      { ...documentBlock(record(part['file']), param), ...cited(part), ...cacheControl(part) },
    ];
  // Mistral's replayed thinking has no signature, so it would be refused (docs/design/protocols.md#provider-quirks).
  if (type === 'thinking') return [];
  throw unsupported(
    type === 'input_audio' ? 'audio input' : `content of type "${type ?? ''}"`,
    param,
  );
}

function textBlock(value: unknown, part: JsonRecord): JsonRecord[] {
  return typeof value === 'string' && value !== ''
    ? [{ type: 'text', text: value, ...cacheControl(part) }]
    : [];
}

/** Adds citations when the client requests them for its document in Anthropic's form. */
function cited(part: JsonRecord): JsonRecord {
  const citations = part['citations'] ?? record(part['file'])['citations'];
  return isRecord(citations) ? { citations } : {};
}

/** `prompt_cache_breakpoint` is OpenAI's name for it; many clients send `cache_control` itself through chat. */
function cacheControl(part: JsonRecord): JsonRecord {
  if (isRecord(part['cache_control'])) return { cache_control: part['cache_control'] };
  const { ttl } = record(part['prompt_cache_breakpoint']);
  if (!isRecord(part['prompt_cache_breakpoint'])) return {};
  return { cache_control: { type: 'ephemeral', ...(ttl === '1h' || ttl === '5m' ? { ttl } : {}) } };
}

/** `detail` has no counterpart and is dropped. */
function imageBlock(part: JsonRecord, param: string): JsonRecord {
  const url = nonEmpty(part['image_url']) ?? nonEmpty(record(part['image_url'])['url']);
  if (url === null)
    throw new InvalidRequest(`${param}.image_url.url: Field required`, {
      param: `${param}.image_url.url`,
      code: 'missing_required_parameter',
    });
  if (/^https?:\/\//i.test(url)) return { type: 'image', source: { type: 'url', url } };
  const inline = dataUrl(url);
  if (!inline)
    throw new InvalidRequest(
      `${param}.image_url.url: Expected an http(s) URL or a base64 data URL`,
      { param: `${param}.image_url.url` },
    );
  if (!IMAGE_TYPES.has(inline.mediaType))
    throw unsupported(`an image of type "${inline.mediaType}"`, `${param}.image_url.url`);
  return {
    type: 'image',
    source: { type: 'base64', media_type: inline.mediaType, data: inline.data },
  };
}

function documentBlock(file: JsonRecord, param: string): JsonRecord {
  const data = nonEmpty(file['file_data']);
  if (data === null) throw unsupported('a file by id', `${param}.file.file_id`);
  const inline = dataUrl(data) ?? { mediaType: 'application/pdf', data };
  if (inline.mediaType !== 'application/pdf')
    throw unsupported(`a file of type "${inline.mediaType}"`, `${param}.file.file_data`);
  const title = nonEmpty(file['filename']);
  return {
    type: 'document',
    source: { type: 'base64', media_type: inline.mediaType, data: inline.data },
    ...(title === null ? {} : { title }),
  };
}

const DATA_URL_HEAD_MAX = 128;

function dataUrl(url: string): { mediaType: string; data: string } | null {
  const comma = url.indexOf(',');
  if (!url.startsWith('data:') || comma === -1 || comma > DATA_URL_HEAD_MAX) return null;
  const [mediaType = '', ...flags] = url.slice('data:'.length, comma).split(';');
  return flags.at(-1) === 'base64'
    ? { mediaType: mediaType.toLowerCase(), data: url.slice(comma + 1) }
    : null;
}
