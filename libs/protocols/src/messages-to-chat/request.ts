import { createHash } from 'node:crypto';
import { isRecord, list, nonEmpty, record } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { takesReasoningEffort, wantsReasoningBack } from '../translation/chat-model.ts';
import { unsupported } from '../errors/unsupported.ts';
import { chatMessages } from './conversation.ts';
import { chatTools } from './tools.ts';

export interface ChatRequestOptions {
  upstreamModel: string;
  /** Counts the granted output tokens; null for the client's own limit. */
  outputLimit: number | null;
  outputLimitField: 'max_tokens' | 'max_completion_tokens';
}

/**
 * Converts a messages request body to a chat request body (docs/translation.md#requests-messages-to-chat). It throws `InvalidRequest` naming a field
 * without a counterpart.
 */
export function toChatRequest(
  body: JsonRecord,
  { upstreamModel, outputLimit, outputLimitField }: ChatRequestOptions,
): JsonRecord {
  if (body['max_tokens'] === 0) throw unsupported('a cache warm-up (max_tokens 0)', 'max_tokens');
  if (list(body['mcp_servers']).length > 0) throw unsupported('mcp_servers', 'mcp_servers');
  if (isRecord(body['compaction'])) throw unsupported('compaction', 'compaction');
  const limit = Math.min(Number(body['max_tokens']), outputLimit ?? Number.MAX_SAFE_INTEGER);
  const { temperature, top_p } = body;
  return {
    model: upstreamModel,
    messages: chatMessages(body['system'], list(body['messages']), {
      returnsReasoning: wantsReasoningBack(upstreamModel),
    }),
    [outputLimitField]: limit,
    ...chatTools(body),
    ...(list(body['stop_sequences']).length > 0 ? { stop: body['stop_sequences'] } : {}),
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...(typeof top_p === 'number' ? { top_p } : {}),
    ...reasoning(body, upstreamModel),
    ...responseFormat(body),
    ...endUser(body),
    ...(body['stream'] === true ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

/** Maps budgets to efforts, by the sizes of the other direction. */
const EFFORT_BY_BUDGET: readonly (readonly [number, string])[] = [
  [4_096, 'low'],
  [12_288, 'medium'],
];

function reasoning(body: JsonRecord, upstreamModel: string): JsonRecord {
  const effort = nonEmpty(record(body['output_config'])['effort']);
  const { type, budget_tokens: budget } = record(body['thinking']);
  if (type === 'disabled' || !takesReasoningEffort(upstreamModel)) return {};
  if (effort !== null) return { reasoning_effort: effort };
  if (type !== 'enabled' || typeof budget !== 'number') return {};
  return { reasoning_effort: EFFORT_BY_BUDGET.find(([most]) => budget <= most)?.[1] ?? 'high' };
}

/** See https://platform.openai.com/docs/guides/structured-outputs; the beta's name for it is `output_format`. */
function responseFormat(body: JsonRecord): JsonRecord {
  const { type, schema } = record(record(body['output_config'])['format'] ?? body['output_format']);
  if (type !== 'json_schema' || !isRecord(schema)) return {};
  return {
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'output', schema, strict: isStrict(schema) },
    },
  };
}

/** OpenAI refuses strict mode unless every object is closed and requires all of its properties; Anthropic requires only the first. */
function isStrict(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict);
  if (!isRecord(schema)) return true;
  const required = new Set(list(schema['required']));
  const isClosed =
    !isRecord(schema['properties']) ||
    (schema['additionalProperties'] === false &&
      Object.keys(schema['properties']).every((key) => required.has(key)));
  return isClosed && Object.values(schema).every(isStrict);
}

/** Claude Code's user_id is about 200 characters of JSON; chat vendors accept at most 64. */
const USER_LENGTH_MAX = 64;

function endUser(body: JsonRecord): JsonRecord {
  const user = nonEmpty(record(body['metadata'])['user_id']);
  if (user === null) return {};
  return {
    user: user.length <= USER_LENGTH_MAX ? user : createHash('sha256').update(user).digest('hex'),
  };
}
