/**
 * Lists the codes by which vendors say that the prompt does not fit. Claude Code compacts its conversation when it reads `prompt is too long`; OpenAI
 * clients look at the code `context_length_exceeded` (docs/design/protocols.md#errors).
 */
const OVERFLOW_CODES = new Set([
  'context_length_exceeded',
  'too_many_prompt_tokens',
  'string_above_max_length',
  'model_context_window_exceeded',
]);
const OVERFLOW_PHRASES = [
  'prompt is too long',
  'prompt too long',
  'maximum context length',
  'max context length',
  'exceed context limit',
  'exceeds the context window',
  'exceed the context window',
  'exceeds the model context',
  'context length exceeded',
  'context window exceeded',
  'length of all messages is too long',
  'exceeds the maximum number of tokens',
  'maximum prompt length',
  'input is too long for requested model',
  'number of input tokens exceeds maximum length',
  'too many tokens: total number',
  'tokens + `max_new_tokens` must be',
];

export function isContextOverflow(message: string, code: string | null): boolean {
  if (code !== null && OVERFLOW_CODES.has(code)) return true;
  const lower = message.toLowerCase();
  return OVERFLOW_PHRASES.some((phrase) => lower.includes(phrase));
}

/** Returns `prompt is too long: N tokens > M maximum` when the message contains the numbers, otherwise the message after that marker. */
export function tooLongMessage(message: string): string {
  if (message.toLowerCase().includes('prompt is too long')) return message;
  const { maximum, requested } = numbersOf(message);
  if (maximum && requested) return `prompt is too long: ${requested} tokens > ${maximum} maximum`;
  return `prompt is too long: ${message}`;
}

/** Returns OpenAI's sentence, which LiteLLM looks for: `This model's maximum context length is M tokens. However, your messages resulted in N tokens.` */
export function contextLengthMessage(message: string): string {
  if (message.toLowerCase().includes("this model's maximum context length is")) return message;
  const { maximum, requested } = numbersOf(message);
  if (maximum && requested)
    return `This model's maximum context length is ${maximum} tokens. However, your messages resulted in ${requested} tokens. Please reduce the length of the messages.`;
  return `This model's maximum context length is exceeded: ${message}`;
}

function numbersOf(message: string): {
  maximum: string | undefined;
  requested: string | undefined;
} {
  const maximum =
    /(?:context length|prompt length|context window|tokens allowed)\D{0,12}(\d{3,12})/i.exec(
      message,
    )?.[1] ?? /(\d{3,12}) maximum/i.exec(message)?.[1];
  const requested =
    /(?:requested|contains|resulted in|token count)\D{0,12}(\d{3,12})/i.exec(message)?.[1] ??
    /too long: (\d{3,12}) tokens/i.exec(message)?.[1];
  return { maximum, requested };
}
