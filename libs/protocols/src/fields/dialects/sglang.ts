import type { Dialect } from './dialect.ts';

const SAMPLING = [
  'ebnf',
  'ignore_eos',
  'min_p',
  'min_tokens',
  'no_stop_trim',
  'regex',
  'repetition_penalty',
  'skip_special_tokens',
  'stop_regex',
  'stop_token_ids',
  'structural_tag',
  'top_k',
];

/** `lora_path`, `session_params`, `rid`, `bootstrap_host`, `priority`, `custom_logit_processor`, `return_hidden_states` and similar fields are omitted. */
export const SGLANG: Dialect = {
  source: 'https://docs.sglang.ai/basic_usage/openai_api_completions.html',
  read: '2026-11-23',
  fields: {
    chat: [
      ...SAMPLING,
      'chat_template_kwargs',
      'continue_final_message',
      'separate_reasoning',
      'stream_reasoning',
    ],
    completions: [...SAMPLING, 'json_schema', 'response_format'],
  },
};
