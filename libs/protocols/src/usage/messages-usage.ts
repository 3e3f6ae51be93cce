import { outputTokensOf, type TokenUsage } from '@tollgate/contracts';
import type { JsonRecord } from '../json/json-guard.ts';

/** Returns usage as a messages client expects it. Cache counts are never null, because clients add them. */
export function toMessagesUsage(usage: TokenUsage): JsonRecord {
  return {
    input_tokens: usage.input + usage.audioInput + usage.imageInput,
    cache_creation_input_tokens: usage.cacheWrite + usage.cacheWrite1h,
    cache_read_input_tokens: usage.cacheRead,
    ...(usage.cacheWrite1h > 0 && {
      cache_creation: {
        ephemeral_5m_input_tokens: usage.cacheWrite,
        ephemeral_1h_input_tokens: usage.cacheWrite1h,
      },
    }),
    ...(usage.searches > 0 && { server_tool_use: { web_search_requests: usage.searches } }),
    output_tokens: outputTokensOf(usage),
    ...(usage.reasoning > 0 ? { output_tokens_details: { thinking_tokens: usage.reasoning } } : {}),
  };
}
