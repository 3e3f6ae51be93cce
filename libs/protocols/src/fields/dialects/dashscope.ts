import type { Dialect } from './dialect.ts';

/** `search_options` and `vl_high_resolution_images` are omitted. */
export const DASHSCOPE: Dialect = {
  source: 'https://www.alibabacloud.com/help/en/model-studio/qwen-api-reference',
  read: '2026-11-23',
  fields: {
    chat: [
      'enable_search',
      'enable_thinking',
      'repetition_penalty',
      'thinking_budget',
      'thinking_budget_tokens',
      'top_k',
    ],
    embeddings: ['output_type', 'text_type'],
  },
};
