import { isRecord, parseJson, records, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import type { WholeAnswer } from '../answers/provider-answers.ts';
import { isToolCall, itemText } from '../answers/openai/response-text.ts';
import { readResponsesUsage } from '../answers/openai/responses-usage.ts';
import { argumentCount } from '../usage/argument-count.ts';

/** Holds a response in its current state at the upstream. */
export interface StoredResponse extends WholeAnswer {
  /** Is the provider's status: completed, incomplete, failed, cancelled, queued, in_progress. */
  readonly status: string;
  /** Is true when nothing more is generated. */
  readonly isOver: boolean;
}

/** A compaction has no status. Any other status, known or not, belongs to a response that continues. */
const ENDED: ReadonlySet<unknown> = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

/** Returns null for an answer that is not a response. */
export function storedResponse(answer: JsonRecord): StoredResponse | null {
  if (!Array.isArray(answer['output'])) return null;
  const items = records(answer['output']);
  const calls = items.filter(isToolCall);
  const status = text(answer['status']) ?? 'completed';
  return {
    status,
    isOver: ENDED.has(status),
    usage: readResponsesUsage(answer),
    outputText: items.map(itemText).join(''),
    calls: calls.length,
    callArguments: () => argumentCount(calls.map((call) => call['arguments'] ?? call['input'])),
  };
}

/** Reads a `storedResponse` from the bytes of an answer. */
export function readStoredResponse(body: Uint8Array): StoredResponse | null {
  const answer = parseJson(body);
  return isRecord(answer) ? storedResponse(answer) : null;
}
