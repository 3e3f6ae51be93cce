import type { Dialect } from './dialect.ts';

const SAMPLING = [
  'context_length_exceeded_behavior',
  'ignore_eos',
  'min_p',
  'mirostat_lr',
  'mirostat_target',
  'prompt_truncate_len',
  'repetition_penalty',
  'top_k',
  'typical_p',
];

/**
 * Covers Together, Fireworks, Cerebras and NIM, too. `compound_custom`, `citation_options`, `safety_model`, `speculation`,
 * `prompt_cache_isolation_key` and `nvext` are omitted.
 */
export const GROQ: Dialect = {
  source:
    'https://console.groq.com/docs/api-reference, https://docs.together.ai/reference, https://docs.fireworks.ai/api-reference, https://inference-docs.cerebras.ai/api-reference and https://docs.nvidia.com/nim',
  read: '2026-11-23',
  fields: {
    chat: [
      ...SAMPLING,
      'disable_reasoning',
      'include_reasoning',
      'reasoning_budget',
      'reasoning_format',
    ],
    completions: SAMPLING,
  },
};
