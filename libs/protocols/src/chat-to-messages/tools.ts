import { isRecord, list, nonEmpty, record, records, wordOf } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { unsupported } from '../errors/unsupported.ts';

/** See https://platform.openai.com/docs/guides/function-calling and https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview. */
export function messagesTools(body: JsonRecord): JsonRecord {
  const choice = body['tool_choice'];
  const allowed = allowedTools(choice);
  const tools = list(body['tools'])
    .map((tool, index) => messagesTool(record(tool), `tools[${index}]`))
    .filter(({ name }) => allowed === null || allowed.has(name));
  if (tools.length === 0) return {};
  const wanted = toolChoice(choice);
  const isSerial = body['parallel_tool_calls'] === false && wanted?.['type'] !== 'none';
  const tool_choice = isSerial
    ? { ...(wanted ?? { type: 'auto' }), disable_parallel_tool_use: true }
    : wanted;
  return { tools, ...(tool_choice === null ? {} : { tool_choice }) };
}

function messagesTool(tool: JsonRecord, param: string): JsonRecord {
  if ((tool['type'] ?? 'function') !== 'function')
    throw unsupported(`a tool of type "${wordOf(tool['type'])}"`, `${param}.type`);
  // Some clients that omit the type omit the wrapping object, too.
  const fn = isRecord(tool['function']) ? tool['function'] : tool;
  const description = nonEmpty(fn['description']);
  const cache = tool['cache_control'] ?? fn['cache_control'];
  return {
    name: fn['name'],
    ...(description === null ? {} : { description }),
    input_schema: inputSchema(fn['parameters']),
    ...(fn['strict'] === true ? { strict: true } : {}),
    ...(isRecord(cache) ? { cache_control: cache } : {}),
  };
}

function inputSchema(parameters: unknown): JsonRecord {
  if (!isRecord(parameters) || Object.keys(parameters).length === 0)
    return { type: 'object', properties: {} };
  return parameters['type'] === undefined ? { type: 'object', ...parameters } : parameters;
}

function toolChoice(choice: unknown): JsonRecord | null {
  const mode =
    isRecord(choice) && choice['type'] === 'allowed_tools'
      ? record(choice['allowed_tools'])['mode']
      : choice;
  if (mode === 'auto') return { type: 'auto' };
  if (mode === 'required') return { type: 'any' };
  if (mode === 'none') return { type: 'none' };
  if (!isRecord(mode)) return null;
  const name = nonEmpty(record(mode['function'])['name']);
  if (name === null) throw unsupported('this kind of tool choice', 'tool_choice');
  return { type: 'tool', name };
}

function allowedTools(choice: unknown): Set<unknown> | null {
  if (!isRecord(choice) || choice['type'] !== 'allowed_tools') return null;
  return new Set(
    records(record(choice['allowed_tools'])['tools']).map(
      (tool) => record(tool['function'])['name'],
    ),
  );
}
