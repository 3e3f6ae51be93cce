import { unsupported } from '../errors/unsupported.ts';
import { isRecord, list, nonEmpty, record, wordOf, type JsonRecord } from '../json/json-guard.ts';
import { systemText } from '../messages-to-chat/content-parts.ts';
import type { Limits } from '../through-messages/dialect.ts';
import { cachePoint, converseMessages } from './contents.ts';
import { furtherFields, isOpaque } from './model-fields.ts';

/**
 * Converts a messages request body to Converse's: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html. Throws
 * `InvalidRequest` naming a field without a counterpart.
 */
export function toConverseRequest(body: JsonRecord, limits: Limits): JsonRecord {
  if (body['max_tokens'] === 0) throw unsupported('a cache warm-up (max_tokens 0)', 'max_tokens');
  if (list(body['mcp_servers']).length > 0) throw unsupported('mcp_servers', 'mcp_servers');
  if (isRecord(body['compaction'])) throw unsupported('compaction', 'compaction');
  const { upstreamModel } = limits;
  const system = systemBlocks(body['system']);
  const messages = converseMessages(list(body['messages']), {
    keepsThoughts: isOpaque(upstreamModel),
  });
  return {
    ...(system.length === 0 ? {} : { system }),
    messages,
    inferenceConfig: inferenceConfig(body, limits),
    ...toolConfig(body, messages),
    ...outputConfig(body),
    ...furtherFields(body, upstreamModel),
  };
}

function systemBlocks(system: unknown): JsonRecord[] {
  const blocks = Array.isArray(system) ? list(system) : [{ type: 'text', text: system ?? '' }];
  return blocks.flatMap((block) => {
    const said = systemText([block], 'system');
    return said === '' ? [] : [{ text: said }, ...cachePoint(record(block))];
  });
}

function inferenceConfig(body: JsonRecord, { outputLimit }: Limits): JsonRecord {
  const { temperature, top_p: topP } = body;
  const stops = list(body['stop_sequences']);
  return {
    maxTokens: Math.min(Number(body['max_tokens']), outputLimit ?? Number.MAX_SAFE_INTEGER),
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...(typeof topP === 'number' ? { topP } : {}),
    ...(stops.length > 0 ? { stopSequences: stops } : {}),
  };
}

function toolConfig(body: JsonRecord, messages: readonly JsonRecord[]): JsonRecord {
  const offered = list(body['tools']).flatMap((tool, index) =>
    toolBlocks(record(tool), `tools[${index}]`),
  );
  if (offered.length === 0) return {};
  const choice = record(body['tool_choice']);
  if (choice['type'] === 'none') {
    // Converse has no such choice, and a conversation with calls must name its tools.
    if (hasCalls(messages)) throw unsupported('the choice "none" after a call', 'tool_choice.type');
    return {};
  }
  const toolChoice = choiceOf(choice);
  return { toolConfig: { tools: offered, ...(toolChoice && { toolChoice }) } };
}

function toolBlocks(tool: JsonRecord, param: string): JsonRecord[] {
  const type = tool['type'] ?? 'custom';
  if (type !== 'custom') throw unsupported(`a tool of type "${wordOf(type)}"`, `${param}.type`);
  const description = nonEmpty(tool['description']);
  const toolSpec = {
    name: tool['name'],
    ...(description === null ? {} : { description }),
    inputSchema: { json: tool['input_schema'] },
  };
  return [{ toolSpec }, ...cachePoint(tool)];
}

function hasCalls(messages: readonly JsonRecord[]): boolean {
  return messages
    .flatMap(({ content }) => list(content))
    .some((block) => isRecord(record(block)['toolUse']));
}

function choiceOf({ type, name }: JsonRecord): JsonRecord | null {
  if (type === 'any') return { any: {} };
  return type === 'tool' ? { tool: { name } } : null;
}

function outputConfig(body: JsonRecord): JsonRecord {
  const { type, schema } = record(record(body['output_config'])['format'] ?? body['output_format']);
  if (type !== 'json_schema') return {};
  const jsonSchema = { schema: JSON.stringify(schema), name: 'response' };
  return { outputConfig: { textFormat: { type, structure: { jsonSchema } } } };
}
