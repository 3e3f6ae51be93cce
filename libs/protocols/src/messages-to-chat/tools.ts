import { list, nonEmpty, record } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { unsupported } from '../errors/unsupported.ts';

/** Is Claude Code's placeholder for tools that it loads later through a server tool; it can never be called (docs/design/protocols.md#coding-clients). */
const PLACEHOLDER = 'DeferredToolPlaceholder';

/** See https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview and https://platform.openai.com/docs/guides/function-calling. */
export function chatTools(body: JsonRecord): JsonRecord {
  const tools = list(body['tools'])
    .map((tool, index) => ({ tool: record(tool), param: `tools[${index}]` }))
    .filter(({ tool }) => tool['name'] !== PLACEHOLDER)
    .map(({ tool, param }) => chatTool(tool, param));
  if (tools.length === 0) return {};
  const choice = record(body['tool_choice']);
  const tool_choice = toolChoice(choice);
  return {
    tools,
    ...(tool_choice === null ? {} : { tool_choice }),
    ...(choice['disable_parallel_tool_use'] === true ? { parallel_tool_calls: false } : {}),
  };
}

/** A missing `type` means custom (envoy ai-gateway#1953). Loading hints have no counterpart. */
function chatTool(tool: JsonRecord, param: string): JsonRecord {
  const { type } = tool;
  if (type !== undefined && type !== null && type !== 'custom')
    throw unsupported(
      `the tool ${JSON.stringify(tool['name'] ?? type)} of type ${JSON.stringify(type)}`,
      `${param}.type`,
    );
  const description = nonEmpty(tool['description']);
  return {
    type: 'function',
    function: {
      name: tool['name'],
      ...(description === null ? {} : { description }),
      parameters: tool['input_schema'] ?? { type: 'object', properties: {} },
      ...(tool['strict'] === true ? { strict: true } : {}),
    },
  };
}

function toolChoice(choice: JsonRecord): string | JsonRecord | null {
  if (choice['type'] === 'auto') return 'auto';
  if (choice['type'] === 'any') return 'required';
  if (choice['type'] === 'none') return 'none';
  return choice['type'] === 'tool'
    ? { type: 'function', function: { name: choice['name'] } }
    : null;
}
