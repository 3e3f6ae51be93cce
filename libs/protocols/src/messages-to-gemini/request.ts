import { unsupported } from '../errors/unsupported.ts';
import { isRecord, list, nonEmpty, record, wordOf } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { systemText } from '../messages-to-chat/content-parts.ts';
import { contentsOf } from './contents.ts';
import type { Signatures } from './signatures.ts';
import { thinkingConfig, needsSignatures } from './thinking.ts';

export interface GeminiRequestOptions {
  upstreamModel: string;
  /** Counts the granted output tokens; null means the client's own. */
  outputLimit: number | null;
  signatures: Signatures;
}

/** Converts a messages request body to Gemini's (https://ai.google.dev/api/generate-content). Throws `InvalidRequest` naming a field without a counterpart. */
export function toGeminiRequest(
  body: JsonRecord,
  { upstreamModel, outputLimit, signatures }: GeminiRequestOptions,
): JsonRecord {
  if (body['max_tokens'] === 0) throw unsupported('a cache warm-up (max_tokens 0)', 'max_tokens');
  if (list(body['mcp_servers']).length > 0) throw unsupported('mcp_servers', 'mcp_servers');
  if (isRecord(body['compaction'])) throw unsupported('compaction', 'compaction');
  const system = systemText(body['system'], 'system');
  return {
    ...(system === '' ? {} : { systemInstruction: { parts: [{ text: system }] } }),
    contents: contentsOf(list(body['messages']), {
      signatures,
      needsSignatures: needsSignatures(upstreamModel),
    }),
    ...toolsOf(body),
    generationConfig: generationConfig(body, { upstreamModel, outputLimit }),
  };
}

function generationConfig(
  body: JsonRecord,
  { upstreamModel, outputLimit }: Pick<GeminiRequestOptions, 'upstreamModel' | 'outputLimit'>,
): JsonRecord {
  const { temperature, top_p: topP, top_k: topK } = body;
  const stops = list(body['stop_sequences']);
  const { type, schema } = record(record(body['output_config'])['format'] ?? body['output_format']);
  const limit = Math.min(Number(body['max_tokens']), outputLimit ?? Number.MAX_SAFE_INTEGER);
  return {
    maxOutputTokens: limit,
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...(typeof topP === 'number' ? { topP } : {}),
    ...(typeof topK === 'number' ? { topK } : {}),
    ...(stops.length > 0 ? { stopSequences: stops } : {}),
    ...(type === 'json_schema'
      ? { responseMimeType: 'application/json', responseJsonSchema: schema }
      : {}),
    ...thinkingConfig(body, upstreamModel),
  };
}

function toolsOf(body: JsonRecord): JsonRecord {
  const functionDeclarations = list(body['tools']).map((tool, index) =>
    declaration(record(tool), `tools[${index}]`),
  );
  if (functionDeclarations.length === 0) return {};
  const functionCallingConfig = callingConfig(record(body['tool_choice']));
  return {
    tools: [{ functionDeclarations }],
    ...(functionCallingConfig && { toolConfig: { functionCallingConfig } }),
  };
}

function declaration(tool: JsonRecord, param: string): JsonRecord {
  const type = tool['type'] ?? 'custom';
  if (type !== 'custom') throw unsupported(`a tool of type "${wordOf(type)}"`, `${param}.type`);
  const description = nonEmpty(tool['description']);
  return {
    name: tool['name'],
    ...(description === null ? {} : { description }),
    parametersJsonSchema: tool['input_schema'],
  };
}

function callingConfig(choice: JsonRecord): JsonRecord | null {
  if (choice['type'] === 'any') return { mode: 'ANY' };
  if (choice['type'] === 'none') return { mode: 'NONE' };
  if (choice['type'] === 'tool') return { mode: 'ANY', allowedFunctionNames: [choice['name']] };
  return null;
}

/** Holds the fields of a chat request that a translation to messages loses and Gemini has: https://ai.google.dev/api/generate-content#GenerationConfig */
const CHAT_SETTINGS: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  top_p: 'topP',
  seed: 'seed',
  presence_penalty: 'presencePenalty',
  frequency_penalty: 'frequencyPenalty',
};

export function withChatSettings(request: JsonRecord, chat: JsonRecord): JsonRecord {
  const settings = Object.entries(CHAT_SETTINGS).flatMap(([name, own]) =>
    typeof chat[name] === 'number' ? [[own, chat[name]] as const] : [],
  );
  const isJson = record(chat['response_format'])['type'] === 'json_object';
  return {
    ...request,
    generationConfig: {
      ...record(request['generationConfig']),
      ...Object.fromEntries(settings),
      ...(isJson ? { responseMimeType: 'application/json' } : {}),
    },
  };
}
