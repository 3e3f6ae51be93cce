import type { Dialect } from './dialect.ts';

/** Covers Moonshot, Zhipu, MiniMax and Ark, too, which switch thinking in the same way. `request_id` and `caching` are omitted. */
export const DEEPSEEK: Dialect = {
  source:
    'https://api-docs.deepseek.com, https://platform.moonshot.ai/docs, https://docs.z.ai and https://docs.volcengine.com',
  read: '2026-11-23',
  fields: {
    chat: ['clear_thinking', 'do_sample', 'reasoning_split', 'thinking', 'tool_stream', 'user_id'],
  },
};
