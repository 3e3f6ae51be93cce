import type { TokenUsage } from '@tollgate/contracts';
import { list, record } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import type { Identity } from '../stream/made-identity.ts';
import { toResponsesUsage } from '../usage/responses-usage.ts';

/** Holds the members in which a response repeats its request. Nothing is stored, whatever the client asked for (docs/translation.md). */
export interface ResponseFrame {
  identity: Identity;
  /** Is the model name that the client asked for. */
  model: string;
  /** Is the client's request body. */
  asked: JsonRecord;
}

export type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed';

/** See https://platform.openai.com/docs/api-reference/responses/object */
export function responseObject(
  { identity, model, asked }: ResponseFrame,
  status: ResponseStatus,
  output: readonly JsonRecord[],
): JsonRecord {
  const reasoning = record(asked['reasoning']);
  return {
    id: identity.id,
    object: 'response',
    created_at: identity.created,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: asked['instructions'] ?? null,
    max_output_tokens: asked['max_output_tokens'] ?? null,
    metadata: asked['metadata'] ?? {},
    model,
    output,
    parallel_tool_calls: asked['parallel_tool_calls'] ?? true,
    previous_response_id: null,
    reasoning: { effort: reasoning['effort'] ?? null, summary: reasoning['summary'] ?? null },
    store: false,
    temperature: asked['temperature'] ?? 1,
    text: asked['text'] ?? { format: { type: 'text' } },
    tool_choice: asked['tool_choice'] ?? 'auto',
    tools: list(asked['tools']),
    top_p: asked['top_p'] ?? 1,
    truncation: 'disabled',
    usage: null,
    user: asked['user'] ?? null,
  };
}

/** Maps a message's stop reason to the end of a response. */
export function endedResponse(
  frame: ResponseFrame,
  end: { stopReason: string | null; output: readonly JsonRecord[]; usage: TokenUsage },
): JsonRecord {
  const reason = incompleteReason(end.stopReason);
  const response = responseObject(frame, reason === null ? 'completed' : 'incomplete', end.output);
  return {
    ...response,
    incomplete_details: reason === null ? null : { reason },
    usage: toResponsesUsage(end.usage),
  };
}

function incompleteReason(stopReason: string | null): string | null {
  if (stopReason === 'max_tokens' || stopReason === 'model_context_window_exceeded')
    return 'max_output_tokens';
  return stopReason === 'refusal' ? 'content_filter' : null;
}
