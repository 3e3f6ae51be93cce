import type { Dialect } from './dialect.ts';

/**
 * `temperature`, `top_k` and `top_p` belong to the version of 2023. `fallbacks` and `billing_policy` are omitted, because they decide on the model
 * and on who is billed.
 */
export const ANTHROPIC: Dialect = {
  source:
    'https://platform.claude.com/docs/en/api/messages and the types of @anthropic-ai/sdk 1.13.0',
  read: '2026-11-23',
  fields: {
    messages: [
      'messages',
      'model',
      'max_tokens',
      'cache_control',
      'compaction',
      'container',
      'context_management',
      'diagnostics',
      'fallback_credit_token',
      'inference_geo',
      'mcp_servers',
      'metadata.user_id',
      'output_config',
      'output_format',
      'safeguards',
      'service_tier',
      'speed',
      'stop_sequences',
      'stream',
      'system',
      'temperature',
      'thinking',
      'thread',
      'tool_choice',
      'tools',
      'top_k',
      'top_p',
    ],
  },
};
