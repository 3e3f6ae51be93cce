import type { Dialect } from './dialect.ts';

/** `guardrails`, `document_image_limit` and `document_page_limit` are omitted. */
export const MISTRAL: Dialect = {
  source: 'https://docs.mistral.ai/api',
  read: '2026-11-23',
  fields: {
    chat: ['prompt_mode', 'random_seed', 'safe_prompt'],
    completions: ['min_tokens', 'random_seed'],
    embeddings: ['output_dimension', 'output_dtype'],
  },
};
