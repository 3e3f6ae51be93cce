import { AdminRefusal } from '@tollgate/admin-client';
import type { Words } from '../words/words.ts';

/** What a person can do with an error. */
export interface Failure {
  title: string;
  detail: string | undefined;
  /** To quote to an operator. */
  requestId: string | undefined;
  /** Field -> what is wrong with it, of a refused form. */
  fields: Readonly<Record<string, string>>;
}

/** The only place where an error becomes words. The server's own text is kept where the catalogue knows nothing better. */
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
  const fields = Object.fromEntries(
    refusal.fields.map(({ field, message }) => [field, message] as const),
  );
  const title = known[refusal.code] ?? (refusal.status >= 500 ? words.failures.server : undefined);
  const saysMore = refusal.message !== refusal.title;
  return {
    title: title ?? refusal.title,
    // Where the server adds nothing to what its code says, the catalogue's words are enough.
    detail: saysMore && refusal.status < 500 ? refusal.message : undefined,
    requestId: refusal.requestId,
    fields,
  };
}

/** True for a refusal with this code. */
export function isRefused(error: unknown, code: string): boolean {
  return error instanceof AdminRefusal && error.code === code;
}
