import type { TokenUsage } from '@tollgate/contracts';
import { isRecord } from '../../json/json-guard.ts';
import { readChatUsage } from './chat-usage.ts';

/** Usage of a response in normal form: the figures of chat under other names. Null when there is none or a figure cannot be true. */
export function readResponsesUsage(value: unknown): TokenUsage | null {
  if (!isRecord(value)) return null;
  return readChatUsage({
    prompt_tokens: value['input_tokens'],
    completion_tokens: value['output_tokens'],
    total_tokens: value['total_tokens'],
    prompt_tokens_details: value['input_tokens_details'],
    completion_tokens_details: value['output_tokens_details'],
  });
}
