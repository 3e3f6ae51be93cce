import type { Dialect } from './dialect.ts';

/** `deferred` is omitted, because its answer would be fetched without the gateway. */
export const XAI: Dialect = {
  source: 'https://docs.x.ai/docs/api-reference',
  read: '2026-11-23',
  fields: {
    chat: ['reasoning_effort', 'search_parameters'],
  },
};
