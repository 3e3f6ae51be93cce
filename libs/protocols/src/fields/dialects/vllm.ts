import type { Dialect } from './dialect.ts';

/** Lists the fields that decide how the prompt is read. */
const TEXT = ['add_special_tokens', 'truncate_prompt_tokens', 'truncation_side'];
/** Lists variables of the template. A caller's own template is a program, and is omitted. */
const TEMPLATE = ['add_generation_prompt', 'chat_template_kwargs'];
const SAMPLING = [
  'allowed_token_ids',
  'bad_words',
  'guided_choice',
  'guided_grammar',
  'guided_json',
  'guided_regex',
  'guided_whitespace_pattern',
  'ignore_eos',
  'include_stop_str_in_output',
  'length_penalty',
  'min_p',
  'min_tokens',
  'repetition_penalty',
  'skip_special_tokens',
  'spaces_between_special_tokens',
  'stop_token_ids',
  'stream_options.continuous_usage_stats',
  'structured_outputs',
  'structural_tag',
  'thinking_token_budget',
  'top_k',
  ...TEXT,
];

/**
 * `priority`, `request_id`, `cache_salt`, `kv_transfer_params`, `vllm_xargs`, `logits_processors`, `mm_processor_kwargs`, `chat_template` and similar
 * fields are omitted.
 */
export const VLLM: Dialect = {
  source: 'https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html',
  read: '2026-11-23',
  fields: {
    chat: [...SAMPLING, ...TEMPLATE, 'continue_final_message', 'documents', 'include_reasoning'],
    completions: [...SAMPLING, 'response_format'],
    responses: [
      ...SAMPLING,
      ...TEMPLATE,
      'frequency_penalty',
      'include_reasoning',
      'logit_bias',
      'presence_penalty',
      'seed',
      'stop',
    ],
    messages: [...SAMPLING, ...TEMPLATE, 'seed'],
    embeddings: [...TEXT, 'dimensions', 'normalize'],
  },
};
