import { unsupported } from '../errors/unsupported.ts';
import { InvalidRequest } from '../exchange.ts';
import { list, nonEmpty, record, records, text, wordOf } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { systemText } from '../messages-to-chat/content-parts.ts';
import { contentValue } from '../translation/content-value.ts';
import { UNSIGNED, type Signatures } from './signatures.ts';

export interface ContentsOptions {
  signatures: Signatures;
  /** The model refuses a call of the running turn that has no signature. */
  needsSignatures: boolean;
}

/** Matches parts of an assistant turn that only their own vendor can use again. */
const FOREIGN_BLOCKS =
  /^(?:thinking|redacted_thinking|compaction|fallback|container_upload|server_tool_use|mcp_tool_use|[a-z_]+_tool_result)$/;

/** Converts a messages conversation to Gemini's contents; neighbours of one role become one. Throws `InvalidRequest` naming what cannot be said. */
export function contentsOf(messages: readonly unknown[], options: ContentsOptions): JsonRecord[] {
  const contents: { role: string; parts: JsonRecord[] }[] = [];
  const names = new Map<string, string>();
  messages.forEach((item, index) => {
    const { role, content } = record(item);
    const param = `messages[${index}]`;
    if (role !== 'user' && role !== 'assistant' && role !== 'system')
      throw unsupported(`role "${wordOf(role)}"`, `${param}.role`);
    const parts = blocksOf(content).flatMap((block, at) =>
      partsOfBlock(record(block), `${param}.content[${at}]`, { names, ...options }),
    );
    const speaker = role === 'assistant' ? 'model' : 'user';
    const last = contents.at(-1);
    if (parts.length === 0) return;
    if (last?.role === speaker) last.parts.push(...parts);
    else contents.push({ role: speaker, parts });
  });
  return contents;
}

function blocksOf(value: unknown): readonly unknown[] {
  const content = contentValue(value);
  return typeof content === 'string' ? [{ type: 'text', text: content }] : list(content);
}

type BlockOptions = ContentsOptions & { names: Map<string, string> };

function partsOfBlock(block: JsonRecord, param: string, options: BlockOptions): JsonRecord[] {
  const type = wordOf(block['type']);
  switch (type) {
    case 'text':
      return nonEmpty(block['text']) === null ? [] : [{ text: block['text'] }];
    case 'image':
    case 'document':
      return sourceParts(record(block['source']), `${param}.source`);
    case 'search_result':
      return [{ text: systemText(block['content'], `${param}.content`) }];
    case 'tool_use':
      return [callPart(block, options)];
    case 'tool_result':
      return resultParts(block, param, options.names);
    default:
      if (FOREIGN_BLOCKS.test(type)) return [];
      throw unsupported(`content of type "${type}"`, `${param}.type`);
  }
}

function sourceParts(source: JsonRecord, param: string): JsonRecord[] {
  if (source['type'] === 'base64')
    return [{ inlineData: { mimeType: source['media_type'], data: source['data'] } }];
  if (source['type'] === 'text') return [{ text: source['data'] }];
  if (source['type'] === 'content') return [{ text: systemText(source['content'], param) }];
  throw unsupported(`content by ${wordOf(source['type'])}`, `${param}.type`);
}

function callPart(block: JsonRecord, { names, signatures, needsSignatures }: BlockOptions) {
  const id = text(block['id']) ?? '';
  const name = text(block['name']) ?? '';
  names.set(id, name);
  const thoughtSignature = signatures(id) ?? (needsSignatures ? UNSIGNED : null);
  return {
    functionCall: { name, args: record(block['input']) },
    ...(thoughtSignature === null ? {} : { thoughtSignature }),
  };
}

function resultParts(
  block: JsonRecord,
  param: string,
  names: ReadonlyMap<string, string>,
): JsonRecord[] {
  const name = names.get(text(block['tool_use_id']) ?? '');
  if (name === undefined)
    throw new InvalidRequest(`${param}.tool_use_id: No call in the conversation has this id`, {
      param: `${param}.tool_use_id`,
    });
  const blocks = blocksOf(block['content'] ?? '').map(record);
  const said = records(blocks)
    .filter(({ type }) => type === 'text')
    .map((each) => text(each['text']) ?? '')
    .join('\n');
  const shown = blocks.flatMap((each, at) =>
    each['type'] === 'image' || each['type'] === 'document'
      ? sourceParts(record(each['source']), `${param}.content[${at}].source`)
      : [],
  );
  const response = block['is_error'] === true ? { error: said } : { result: said };
  return [{ functionResponse: { name, response } }, ...shown];
}
