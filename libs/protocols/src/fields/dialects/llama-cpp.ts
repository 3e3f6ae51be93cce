import type { Dialect } from './dialect.ts';

const SAMPLING = [
  'dry_allowed_length',
  'dry_base',
  'dry_multiplier',
  'dry_penalty_last_n',
  'dry_sequence_breakers',
  'dynatemp_exponent',
  'dynatemp_range',
  'grammar',
  'ignore_eos',
  'min_keep',
  'min_p',
  'mirostat',
  'mirostat_eta',
  'mirostat_tau',
  'repeat_last_n',
  'repeat_penalty',
  'samplers',
  'top_k',
  'top_n_sigma',
  'typical_p',
  'xtc_probability',
  'xtc_threshold',
];

/** `id_slot`, `lora`, `n_probs`, `cache_prompt`, `n_cache_reuse`, `n_keep`, `t_max_predict_ms`, `timings_per_token` and similar fields are omitted. */
export const LLAMA_CPP: Dialect = {
  source: 'https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md',
  read: '2026-11-23',
  fields: {
    chat: [...SAMPLING, 'chat_template_kwargs', 'reasoning_format', 'thinking_forced_open'],
    completions: [...SAMPLING, 'json_schema', 'response_format'],
    messages: [...SAMPLING, 'chat_template_kwargs'],
  },
};
