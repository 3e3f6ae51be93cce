import { outputTokensOf, promptTokensOf, type TokenUsage } from '@tollgate/contracts';
import type { JsonRecord } from '../json/json-guard.ts';

/** Returns usage as a client of /v1/responses expects it: cache counts are inside `input_tokens`. */
export function toResponsesUsage(usage: TokenUsage): JsonRecord {
  const input = promptTokensOf(usage);
  const output = outputTokensOf(usage);
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite + usage.cacheWrite1h,
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: input + output,
  };
}
