import { NO_USAGE } from '@tollgate/contracts';
import type { TypedRecord } from '../sse/sse-format.ts';
import { toMessagesUsage } from '../usage/messages-usage.ts';

/**
 * Returns the gateway's own message_start. Its usage is zero: LangChain adds both output counts, and the input is not known yet
 * (docs/design/protocols.md#streams).
 */
export function messageStart({ id, model }: { id: string; model: string }): TypedRecord {
  const message = {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: toMessagesUsage(NO_USAGE),
  };
  return { type: 'message_start', message };
}
