import type { Dialect } from './dialect.ts';

const SAMPLING = ['min_p', 'reasoning', 'repetition_penalty', 'top_a', 'top_k'];

/**
 * `plugins` are tools of the provider, and pass where they have a price. `models`, `provider`, `route`, `preset`, `transforms`, `usage`, `session_id`
 * and `trace` are omitted.
 */
export const OPENROUTER: Dialect = {
  source: 'https://openrouter.ai/docs/api-reference/parameters',
  read: '2026-11-23',
  fields: {
    chat: [...SAMPLING, 'include_reasoning', 'plugins', 'verbosity'],
    completions: SAMPLING,
  },
};
