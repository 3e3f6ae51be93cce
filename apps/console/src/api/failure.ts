import { AdminRefusal } from '@tollgate/admin-client';
import type { Words } from '../words/words.ts';

/** Holds what a person can do with an error. */
export interface Failure {
  title: string;
  detail: string | undefined;
  /** Is the id that the user quotes to an operator. */
  requestId: string | undefined;
  /** Maps the fields of a refused form to what is wrong with them. */
  fields: Readonly<Record<string, string>>;
}

/** Turns an error into words; no other code does. The server's own text is kept where the catalogue has nothing better. */
export function failureOf(error: unknown, words: Words): Failure {
  if (error instanceof AdminRefusal) return ofRefusal(error, words);
  const { noAnswer, noAnswerHelp, unexpected } = words.failures;
  const isSilence =
    error instanceof TypeError ||
    (error instanceof DOMException && ['TimeoutError', 'AbortError'].includes(error.name));
  return {
    title: isSilence ? noAnswer : unexpected,
    detail: isSilence ? noAnswerHelp : String(error),
    requestId: undefined,
    fields: {},
  };
}

function ofRefusal(refusal: AdminRefusal, words: Words): Failure {
  const known: Readonly<Record<string, string>> = words.failures.codes;
  const named = known[refusal.code] ?? (refusal.status >= 500 ? words.failures.server : undefined);
  const title = named ?? refusal.title;
  const fields = Object.fromEntries(
    refusal.fields.map((fault) => [fault.field, wordsOfFault(fault, title, words)] as const),
  );
  if (refusal.fields.length > 0) {
    // A mistake in a form is no incident, so it needs no request id.
    const detail = [...new Set(Object.values(fields))].filter((text) => text !== title).join('; ');
    return { title, detail: detail || undefined, requestId: undefined, fields };
  }
  // The catalogue's words are enough when the server adds nothing to them.
  const saysMore = refusal.message !== refusal.title && refusal.status < 500;
  const detail = saysMore ? refusal.message : undefined;
  return { title, detail, requestId: refusal.requestId, fields };
}

/** Returns what is wrong with one field. A refusal of a code of its own is about the field as a whole. */
function wordsOfFault(
  { code, params, message }: AdminRefusal['fields'][number],
  title: string,
  { fieldFaults }: Words,
): string {
  if (code === 'refused') return title;
  if (code === 'rule') return fieldFaults.rule(message);
  const texts = Object.entries(params).map(([name, value]) => [name, String(value)]);
  return fieldFaults.faults[code](Object.fromEntries(texts));
}

/** Returns true for a refusal with this code. */
export function isRefused(error: unknown, code: string): boolean {
  return error instanceof AdminRefusal && error.code === code;
}
