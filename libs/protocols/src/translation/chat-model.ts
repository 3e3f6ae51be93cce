/** Says what a chat upstream's model takes, as far as its name shows. */

/** Matches models that answer 400 to `reasoning_effort`: "Unrecognized request argument". */
const WITHOUT_EFFORT = /(?:^|\/)(?:gpt-3|gpt-4|chatgpt-|llama|gemma|command)/i;
/** These models show their thinking, and answer 400 or worse when a tool turn returns without it (https://api-docs.deepseek.com/guides/thinking_mode). */
const WANTS_REASONING = /deepseek|kimi|moonshot|glm|minimax|mimo/i;

/** Matches models that think for minutes before they answer, hidden from the caller. */
const REASONS = /(?:^|\/)(?:gpt-[5-9]|o\d)|reason|thinking|deepseek-r\d|qwq|magistral|grok-[4-9]/i;

export function isReasoningModel(model: string): boolean {
  return REASONS.test(model);
}

export function takesReasoningEffort(model: string): boolean {
  return !WITHOUT_EFFORT.test(model);
}

export function wantsReasoningBack(model: string): boolean {
  return WANTS_REASONING.test(model);
}
