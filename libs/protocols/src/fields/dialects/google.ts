import type { Dialect } from './dialect.ts';

/** `extra_body.google.cached_content` is omitted, because it names content of the account that all customers share. */
export const GOOGLE: Dialect = {
  source: 'https://ai.google.dev/gemini-api/docs/openai',
  read: '2026-11-23',
  fields: {
    chat: ['extra_body.google.thinking_config', 'max_thinking_tokens'],
  },
};
