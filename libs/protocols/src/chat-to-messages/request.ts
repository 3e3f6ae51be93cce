import { InvalidRequest } from '../exchange.ts';
import { isRecord, list, nonEmpty, numberOf, record } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { claudeModel } from '../translation/claude-model.ts';
import type { ClaudeModel } from '../translation/claude-model.ts';
import { unsupported } from '../errors/unsupported.ts';
import { conversation } from './conversation.ts';
import { thinkingChoice } from './thinking.ts';
import type { ThinkingChoice } from './thinking.ts';
import { messagesTools } from './tools.ts';

/** Is the output limit of a request for which neither the client nor the node set one. */
const OUTPUT_LIMIT_DEFAULT = 4_096;
const JSON_INSTRUCTION =
  'Respond with a single valid JSON object and nothing else: no prose, no code fence.';

export interface MessagesRequestOptions {
  upstreamModel: string;
  /** Counts the granted output tokens; null for the client's own limit. */
  outputLimit: number | null;
}

/**
 * Converts a chat request body to a messages request body (docs/translation.md#requests-chat-to-messages). Throws `InvalidRequest` naming a field
 * that has no counterpart.
 */
export function toMessagesRequest(
  body: JsonRecord,
  { upstreamModel, outputLimit }: MessagesRequestOptions,
): JsonRecord {
  refuseUnsupported(body);
  const model = claudeModel(upstreamModel);
  const { system, messages } = conversation(list(body['messages']), model);
  const format = responseFormat(body['response_format']);
  const tools = messagesTools(body);
  const max_tokens = Math.min(
    ownLimit(body) ?? outputLimit ?? OUTPUT_LIMIT_DEFAULT,
    outputLimit ?? Number.MAX_SAFE_INTEGER,
  );
  const chosen = thinkingChoice(body['reasoning_effort'], {
    model,
    maxTokens: max_tokens,
    turns: messages,
    toolChoice: tools['tool_choice'],
  });
  const prompt =
    format.instruction === null ? system : [...system, { type: 'text', text: format.instruction }];
  return {
    model: upstreamModel,
    max_tokens,
    ...(prompt.length === 0 ? {} : { system: prompt }),
    messages,
    ...tools,
    ...stops(body['stop']),
    ...sampling(body, model, chosen),
    ...(chosen.thinking ? { thinking: chosen.thinking } : {}),
    ...outputConfig(format.schema, chosen.effort),
    ...metadata(body),
    ...(body['stream'] === true ? { stream: true } : {}),
  };
}

function refuseUnsupported(body: JsonRecord): void {
  if (typeof body['n'] === 'number' && body['n'] > 1)
    throw unsupported('more than one choice', 'n');
  if (body['logprobs'] === true) throw unsupported('logprobs', 'logprobs');
  if (numberOf(body['top_logprobs'] ?? 0) > 0) throw unsupported('top_logprobs', 'top_logprobs');
  for (const feature of [
    'audio',
    'prediction',
    'web_search_options',
    'functions',
    'function_call',
  ]) {
    if (body[feature] !== undefined && body[feature] !== null) throw unsupported(feature, feature);
  }
  if (list(body['modalities']).includes('audio')) throw unsupported('audio output', 'modalities');
}

function ownLimit(body: JsonRecord): number | null {
  const limit = body['max_completion_tokens'] ?? body['max_tokens'];
  return typeof limit === 'number' ? limit : null;
}

/** Anthropic refuses stop sequences that are blank. */
function stops(stop: unknown): JsonRecord {
  const sequences = (typeof stop === 'string' ? [stop] : list(stop)).filter(
    (item) => typeof item === 'string' && item.trim() !== '',
  );
  return sequences.length === 0 ? {} : { stop_sequences: sequences };
}

/** Sampling fields are dropped where the model refuses them, and with thinking, which fixes them. Anthropic's temperature ends at 1. */
function sampling(body: JsonRecord, model: ClaudeModel, { thinking }: ThinkingChoice): JsonRecord {
  const isThinking = thinking !== undefined && thinking['type'] !== 'disabled';
  if (!model.takesSampling || isThinking) return {};
  const { temperature, top_p } = body;
  const hasTemperature = typeof temperature === 'number';
  return {
    ...(hasTemperature ? { temperature: Math.min(temperature, 1) } : {}),
    ...(typeof top_p === 'number' && (model.takesBothSampling || !hasTemperature) ? { top_p } : {}),
  };
}

/** See https://platform.claude.com/docs/en/build-with-claude/structured-outputs. `json_object` has no counterpart, so an instruction replaces it. */
function responseFormat(format: unknown): {
  schema: JsonRecord | null;
  instruction: string | null;
} {
  const type = record(format)['type'];
  if (type === 'json_object') return { schema: null, instruction: JSON_INSTRUCTION };
  if (type !== 'json_schema') return { schema: null, instruction: null };
  const { schema } = record(record(format)['json_schema']);
  if (!isRecord(schema))
    throw new InvalidRequest('response_format.json_schema.schema: Field required', {
      param: 'response_format.json_schema.schema',
      code: 'missing_required_parameter',
    });
  return { schema, instruction: null };
}

function outputConfig(schema: JsonRecord | null, effort: string | undefined): JsonRecord {
  if (schema === null && effort === undefined) return {};
  return {
    output_config: {
      ...(effort === undefined ? {} : { effort }),
      ...(schema === null ? {} : { format: { type: 'json_schema', schema } }),
    },
  };
}

function metadata(body: JsonRecord): JsonRecord {
  const user = nonEmpty(body['safety_identifier']) ?? nonEmpty(body['user']);
  return user === null ? {} : { metadata: { user_id: user } };
}
