import type { ReportedUsage } from '@tollgate/contracts';
import { isRecord, records } from '../../json/json-guard.ts';
import { readMessagesUsage } from '../anthropic/messages-usage.ts';

/**
 * Reads the usage of Converse in normal form: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html. As with messages, the input excludes
 * what the cache read and wrote, and the writes are counted by lifetime.
 */
export function readConverseUsage(value: unknown): ReportedUsage | null {
  if (!isRecord(value)) return null;
  const lasting = records(value['cacheDetails']).find(({ ttl }) => ttl === '1h');
  return readMessagesUsage({
    input_tokens: value['inputTokens'],
    output_tokens: value['outputTokens'],
    cache_read_input_tokens: value['cacheReadInputTokens'] ?? value['cacheReadInputTokenCount'],
    cache_creation_input_tokens:
      value['cacheWriteInputTokens'] ?? value['cacheWriteInputTokenCount'],
    ...(lasting && {
      cache_creation: { ephemeral_1h_input_tokens: lasting['inputTokens'] },
    }),
  });
}
