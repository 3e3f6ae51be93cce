import { isRecord, nonEmpty, record, records, text } from '../../json/json-guard.ts';
import type { JsonRecord } from '../../json/json-guard.ts';

/** Returns the first candidate; there is never another, as none is asked for. */
function candidateOf(answer: JsonRecord): JsonRecord {
  return records(answer['candidates'])[0] ?? {};
}

export function partsOf(answer: JsonRecord): JsonRecord[] {
  return records(record(candidateOf(answer)['content'])['parts']);
}

/** Returns all text that a part generates; a call is its name and its arguments. */
export function partText(part: JsonRecord): string {
  if (isRecord(part['functionCall'])) {
    const { name, args } = part['functionCall'];
    return (text(name) ?? '') + JSON.stringify(args ?? {});
  }
  const code = record(part['executableCode'])['code'];
  return text(part['text']) ?? text(code) ?? '';
}

/** Returns the word for why the answer is over: of the candidate, or of a prompt that was blocked. */
export function finishOf(answer: JsonRecord): { reason: string; isBlocked: boolean } | null {
  const blocked = nonEmpty(record(answer['promptFeedback'])['blockReason']);
  if (blocked !== null) return { reason: blocked, isBlocked: true };
  const reason = nonEmpty(candidateOf(answer)['finishReason']);
  return reason === null ? null : { reason, isBlocked: false };
}
