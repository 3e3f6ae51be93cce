import { AdminRefusal } from '@tollgate/admin-client';

/** Lists the exit statuses. 0 means that the command succeeded and the checked state is good. */
export const EXIT = { notWell: 1, failed: 2 } as const;

const ADVICE: Readonly<Record<string, string>> = {
  unauthenticated: '\n  Fix: tollgate login',
  session_needed: '\n  Fix: unset TOLLGATE_TOKEN, then tollgate login',
};

/** Is thrown when the command is wrong or incomplete; the message names the remedy. */
export class UsageError extends Error {}

/** Describes every failure of a server call for people. */
export function describeFailure(error: unknown): string {
  if (error instanceof AdminRefusal) {
    const fields = error.fields
      .filter(({ field }) => field !== '')
      .map(({ field, message }) => `\n  ${field}: ${message}`);
    const advice = ADVICE[error.code] ?? '';
    return `${fields.length > 0 ? error.title : error.message} (${error.status} ${error.code}${error.requestId === undefined ? '' : `, request ${error.requestId}`})${fields.join('')}${advice}`;
  }
  if (error instanceof UsageError) return error.message;
  // fetch hides the reason in its cause.
  if (error instanceof TypeError && error.cause instanceof Error)
    return `The server does not answer: ${error.cause.message || String(error.cause)}\n  Fix: start it; npm start runs one here.`;
  if (error instanceof Error && error.name === 'TimeoutError')
    return 'The server does not answer in time.';
  return error instanceof Error ? error.message : String(error);
}
