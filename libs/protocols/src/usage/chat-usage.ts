import { outputTokensOf, promptTokensOf, type TokenUsage } from '@tollgate/contracts';
import type { JsonRecord } from '../json/json-guard.ts';

/** Returns usage as a chat-completions client expects it: cache, audio and image counts are inside `prompt_tokens` and `completion_tokens`. */
export function toChatUsage(usage: TokenUsage): JsonRecord {
  const prompt = promptTokensOf(usage);
  const completion = outputTokensOf(usage);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite + usage.cacheWrite1h,
      ...(usage.audioInput > 0 && { audio_tokens: usage.audioInput }),
      ...(usage.imageInput > 0 && { image_tokens: usage.imageInput }),
    },
    // Relays of Anthropic report searches here.
    ...(usage.searches > 0 && { server_tool_use: { web_search_requests: usage.searches } }),
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning,
      ...(usage.audioOutput > 0 && { audio_tokens: usage.audioOutput }),
      ...(usage.imageOutput > 0 && { image_tokens: usage.imageOutput }),
    },
  };
}
