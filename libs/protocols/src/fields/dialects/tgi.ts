import type { Dialect } from './dialect.ts';

const SAMPLING = [
  'do_sample',
  'grammar',
  'repetition_penalty',
  'top_k',
  'truncate',
  'typical_p',
  'watermark',
];

/** Covers Text Embeddings Inference, too. `adapter_id`, `parameters` and `best_of` of its own interface are omitted. */
export const TGI: Dialect = {
  source: 'https://huggingface.co/docs/text-generation-inference/reference/api_reference',
  read: '2026-11-23',
  fields: {
    chat: [...SAMPLING, 'tool_prompt'],
    completions: SAMPLING,
    embeddings: ['normalize', 'prompt_name', 'truncate', 'truncation_direction'],
  },
};
