import { InvalidRequest } from '../exchange.ts';
import { isRecord, list, nonEmpty, record, records, text, wordOf } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { contentValue } from '../translation/content-value.ts';
import { unsupported } from '../errors/unsupported.ts';

/** Claude Code's attribution block changes with every request, which would defeat the upstream's prefix cache (docs/design/protocols.md#coding-clients). */
const BILLING_HEADER = 'x-anthropic-billing-header:';

/** Converts the content of a user or system message to chat parts; a string becomes one text part. Empty texts are dropped. */
export function contentParts(value: unknown, param: string): JsonRecord[] {
  const content = contentValue(value);
  if (typeof content === 'string') return textPart(content);
  return list(content).flatMap((block, index) => blockParts(block, `${param}[${index}]`));
}

/** Converts parts to chat content: a plain string when there is only text, which every upstream accepts. */
export function chatContent(parts: readonly JsonRecord[]): string | readonly JsonRecord[] {
  const isText = parts.every(({ type }) => type === 'text');
  return isText ? parts.map((part) => text(part['text']) ?? '').join('\n') : parts;
}

/** Returns the text of a system prompt, given as a string or as blocks, without the billing header (behaviour 5). */
export function systemText(system: unknown, param: string): string {
  const parts = contentParts(system, param).map((part) => text(part['text']) ?? '');
  return parts.filter((part) => !part.startsWith(BILLING_HEADER)).join('\n');
}

function textPart(value: string): JsonRecord[] {
  return value === '' ? [] : [{ type: 'text', text: value }];
}

/** Converts one content block to chat parts. It throws `InvalidRequest` naming a block without a counterpart in chat. */
export function blockParts(block: unknown, param: string): JsonRecord[] {
  if (!isRecord(block)) throw new InvalidRequest(`${param}: Expected an object`, { param });
  switch (block['type']) {
    case 'text':
      return textPart(text(block['text']) ?? '');
    case 'image':
      return [imagePart(record(block['source']), param)];
    case 'document':
      return documentParts(block, param);
    case 'search_result':
      return textPart(
        [text(block['title']), text(block['source']), blocksText(block['content'])]
          .filter((line) => line)
          .join('\n'),
      );
    case 'tool_reference':
      return textPart(`Tool available: ${text(block['tool_name']) ?? ''}`);
    default:
      throw unsupported(`content of type "${wordOf(block['type'])}"`, `${param}.type`);
  }
}

function imagePart(source: JsonRecord, param: string): JsonRecord {
  if (source['type'] === 'base64')
    return {
      type: 'image_url',
      image_url: {
        url: `data:${text(source['media_type']) ?? ''};base64,${text(source['data']) ?? ''}`,
      },
    };
  const url = nonEmpty(source['url']);
  if (source['type'] !== 'url' || url === null)
    throw unsupported(`an image source of type "${wordOf(source['type'])}"`, `${param}.source`);
  return { type: 'image_url', image_url: { url } };
}

function documentParts(block: JsonRecord, param: string): JsonRecord[] {
  const source = record(block['source']);
  const title = nonEmpty(block['title']);
  if (source['type'] === 'text')
    return textPart([title, text(source['data'])].filter((line) => line).join('\n'));
  if (source['type'] === 'content')
    return textPart(
      [title, text(source['content']) ?? blocksText(source['content'])]
        .filter((line) => line)
        .join('\n'),
    );
  if (source['type'] !== 'base64')
    throw unsupported(`a document source of type "${wordOf(source['type'])}"`, `${param}.source`);
  const file_data = `data:${text(source['media_type']) ?? 'application/pdf'};base64,${text(source['data']) ?? ''}`;
  return [{ type: 'file', file: { filename: title ?? 'document.pdf', file_data } }];
}

function blocksText(blocks: unknown): string {
  return records(blocks)
    .map((block) => text(block['text']) ?? '')
    .join('\n');
}
