import type { ReportedUsage } from '@tollgate/contracts';
import { isRecord } from '../../json/json-guard.ts';
import type { JsonRecord } from '../../json/json-guard.ts';
import { readChatUsage } from './chat-usage.ts';

/** Reads the usage of a response in normal form: chat's figures under other names. `response` contains the usage. */
export function readResponsesUsage(response: JsonRecord): ReportedUsage | null {
  const value = response['usage'];
  if (!isRecord(value)) return null;
  return readChatUsage(
    {
      prompt_tokens: value['input_tokens'],
      completion_tokens: value['output_tokens'],
      total_tokens: value['total_tokens'],
      prompt_tokens_details: value['input_tokens_details'],
      completion_tokens_details: value['output_tokens_details'],
    },
    response,
  );
}
