/**
 * Lists what a translated request or answer loses. Everything else has a counterpart, or is refused with a 400 that names it. `docs/translation.md`
 * prints these tables; its spec fails when they differ.
 */
export interface Omission {
  direction: 'chat to messages' | 'messages to chat' | 'responses to chat or messages';
  part: 'request' | 'answer';
  /** Is the field as the client or upstream writes it. */
  feature: string;
  /** Says what happens to the field, and why that does no harm, or which harm it does. */
  outcome: string;
}

export const OMISSIONS: readonly Omission[] = [
  {
    direction: 'chat to messages',
    part: 'request',
    feature: '`seed`, `presence_penalty`, `frequency_penalty`, `logit_bias`',
    outcome: 'dropped: hints without a counterpart',
  },
  {
    direction: 'chat to messages',
    part: 'request',
    feature:
      '`store`, `metadata`, `service_tier`, `verbosity`, `prompt_cache_key`, `prompt_cache_options`, `prompt_cache_retention`, `moderation`',
    outcome: "dropped: they concern OpenAI's own services",
  },
  {
    direction: 'chat to messages',
    part: 'request',
    feature: '`temperature`, `top_p` for Claude 4.7 and later, or while thinking',
    outcome:
      'dropped: the model answers 400 to them; `top_p` beside `temperature` already from 4.1 on; `temperature` above 1 becomes 1',
  },
  {
    direction: 'chat to messages',
    part: 'request',
    feature:
      '`reasoning_effort` for Claude before 3.7, or for 3.7 to 4.5 with a forced tool, inside a tool turn, or with at most 1,024 output tokens',
    outcome: 'no thinking: the model would refuse the request',
  },
  {
    direction: 'chat to messages',
    part: 'request',
    feature: '`response_format: json_object`',
    outcome: 'an instruction in the system prompt; not enforced',
  },
  {
    direction: 'chat to messages',
    part: 'request',
    feature: '`image_url.detail`, `name` of messages, empty text parts, stop sequences of blanks',
    outcome: 'dropped',
  },
  {
    direction: 'chat to messages',
    part: 'request',
    feature: '`reasoning_content`, `thinking` parts of earlier turns',
    outcome: 'dropped: unsigned thinking is refused; `thinking_blocks` with signatures are passed',
  },
  {
    direction: 'chat to messages',
    part: 'request',
    feature: 'system and developer messages after the first turn',
    outcome: "keep their role from Claude 4.8 on, else their text joins the user's turn",
  },
  {
    direction: 'chat to messages',
    part: 'request',
    feature: 'unknown fields',
    outcome: 'dropped: only same-protocol routes pass them',
  },
  {
    direction: 'chat to messages',
    part: 'answer',
    feature:
      'calls of server tools, their results but those of web search, `container`, `context_management`',
    outcome: 'dropped: a chat answer has no place for them',
  },
  {
    direction: 'chat to messages',
    part: 'answer',
    feature: '`stop_sequence`, `pause_turn`',
    outcome: '`stop`',
  },
  {
    direction: 'messages to chat',
    part: 'request',
    feature:
      '`top_k`, `context_management`, `service_tier`, `speed`, `container`, `inference_geo`, `diagnostics`, `cache_control`, `fallbacks`, `fallback_credit_token`, `billing_policy`, `output_config.task_budget`, betas, unknown fields',
    outcome: 'dropped: no counterpart; only same-protocol routes pass them',
  },
  {
    direction: 'messages to chat',
    part: 'request',
    feature: 'thinking of earlier turns',
    outcome:
      'dropped; sent as `reasoning_content` of tool turns to DeepSeek, Kimi, GLM, MiniMax and MiMo models, which ask for it',
  },
  {
    direction: 'messages to chat',
    part: 'request',
    feature:
      '`redacted_thinking`, server tools and their results, listings of MCP tools, fallbacks, compaction in earlier turns',
    outcome: 'dropped: another vendor cannot read them',
  },
  {
    direction: 'messages to chat',
    part: 'request',
    feature:
      '`thinking`, `output_config.effort` for models that refuse `reasoning_effort` (GPT-3, GPT-4, Llama, Gemma, Command); `thinking: disabled`',
    outcome: 'dropped',
  },
  {
    direction: 'messages to chat',
    part: 'request',
    feature: 'the `x-anthropic-billing-header` block',
    outcome: 'dropped: it changes with every request and would defeat the prefix cache',
  },
  {
    direction: 'messages to chat',
    part: 'request',
    feature: 'role `system` inside messages',
    outcome:
      "its text joins the user's turn: many chat upstreams take a system message at the beginning only",
  },
  {
    direction: 'messages to chat',
    part: 'request',
    feature:
      '`defer_loading`, `eager_input_streaming`, `allowed_callers`, `input_examples` of tools; `DeferredToolPlaceholder`',
    outcome: 'dropped: all tools are offered at once',
  },
  {
    direction: 'messages to chat',
    part: 'request',
    feature: '`metadata.user_id` of more than 64 characters',
    outcome: 'its SHA-256',
  },
  {
    direction: 'messages to chat',
    part: 'request',
    feature: 'an output format that is not closed and fully required',
    outcome: 'sent with `strict: false`: followed, not enforced',
  },
  {
    direction: 'messages to chat',
    part: 'answer',
    feature:
      '`logprobs`, `annotations`, `audio`, `system_fingerprint`, `service_tier`, all choices but the first',
    outcome: 'dropped: a message has no place for them',
  },
  {
    direction: 'messages to chat',
    part: 'answer',
    feature: 'thinking',
    outcome: 'a `thinking` block with an empty signature; Anthropic upstreams never see it again',
  },
  {
    direction: 'messages to chat',
    part: 'answer',
    feature: 'tool arguments of a JSON answer that are no JSON object',
    outcome: '`input: {}`',
  },
  {
    direction: 'responses to chat or messages',
    part: 'request',
    feature: '`store: true`',
    outcome: 'nothing is stored; the answer says `store: false`',
  },
  {
    direction: 'responses to chat or messages',
    part: 'request',
    feature: '`item_reference` to reasoning, or to text before a tool call',
    outcome:
      'dropped: it was only an intermediate step; a reference to an answer is refused (send the item, with `store: false`)',
  },
  {
    direction: 'responses to chat or messages',
    part: 'request',
    feature:
      '`include`, `metadata`, `prompt_cache_key`, `prompt_cache_options`, `prompt_cache_retention`, `client_metadata`, `service_tier`, `truncation`, `text.verbosity`, `reasoning.summary`, `max_tool_calls`, `stream_options`, `moderation`, `image`, `access_programs`, `background_options`',
    outcome: 'dropped; `metadata` is echoed',
  },
  {
    direction: 'responses to chat or messages',
    part: 'request',
    feature: '`context_management`',
    outcome: 'dropped: the input is not compacted; one that is too long is refused as such',
  },
  {
    direction: 'responses to chat or messages',
    part: 'request',
    feature: '`encrypted_content` of another vendor',
    outcome:
      "dropped; what this gateway sealed (an Anthropic model's signed thinking) returns to Anthropic byte for byte",
  },
  {
    direction: 'responses to chat or messages',
    part: 'request',
    feature: 'the grammar of a custom tool',
    outcome: 'the model gets a function with one text argument, `input`',
  },
  {
    direction: 'responses to chat or messages',
    part: 'request',
    feature: 'developer and system items after the first turn (chat upstream)',
    outcome: 'become user messages',
  },
  {
    direction: 'responses to chat or messages',
    part: 'answer',
    feature: "deltas of a custom tool's input",
    outcome: 'one delta when it is whole',
  },
  {
    direction: 'responses to chat or messages',
    part: 'answer',
    feature: 'citations, server tools and their results',
    outcome: 'dropped',
  },
];

/** Returns the list as a Markdown table, for the documentation. */
export function omissionTable(direction: Omission['direction']): string {
  const rows = OMISSIONS.filter((omission) => omission.direction === direction).map(
    ({ part, feature, outcome }) => `| ${part} | ${feature} | ${outcome} |`,
  );
  return ['| In the | What | What becomes of it |', '| --- | --- | --- |', ...rows].join('\n');
}
