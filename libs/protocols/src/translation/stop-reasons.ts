/** Maps the reasons why a model stopped between both vocabularies (docs/translation.md#answers). An unknown reason after content is an ordinary end. */

/** See https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons and https://platform.openai.com/docs/api-reference/chat/object. */
const FINISH_REASONS: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
};

const STOP_REASONS: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  length: 'max_tokens',
  // Mistral names the model's own limit so.
  model_length: 'max_tokens',
  content_filter: 'refusal',
};

export function finishReason(stopReason: string | null): string {
  return (
    (stopReason !== null &&
      Object.hasOwn(FINISH_REASONS, stopReason) &&
      FINISH_REASONS[stopReason]) ||
    'stop'
  );
}

/** Several vendors send `stop` after tool calls; clients of messages act only on `tool_use` (behaviour 21). */
export function stopReason(
  finish: string | null,
  facts: { hasTools: boolean; hasRefusal: boolean },
): string {
  if (facts.hasRefusal) return 'refusal';
  const mapped =
    (finish !== null && Object.hasOwn(STOP_REASONS, finish) && STOP_REASONS[finish]) || 'end_turn';
  return mapped === 'end_turn' && facts.hasTools ? 'tool_use' : mapped;
}
