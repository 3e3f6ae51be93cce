import { isRecord, parseJson, records, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import type { WholeAnswer } from '../answers/provider-answers.ts';
import { isToolCall, itemText } from '../answers/openai/response-text.ts';
import { readResponsesUsage } from '../answers/openai/responses-usage.ts';
import { argumentCount } from '../usage/argument-count.ts';

/** A response as its upstream has it now. */
export interface StoredResponse extends WholeAnswer {
  /** The provider's status: completed, incomplete, failed, cancelled, queued, in_progress. */
  readonly status: string;
  /** Nothing more is generated. */
  readonly isOver: boolean;
}

/** A compaction has none. Any other, also one that is not known yet, is of a response that continues. */
const ENDED: ReadonlySet<unknown> = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

/** Null for what is no response. */
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
