import { guardedRequest, type GuardedRequest } from './guarded-request.ts';

const TIMEOUT_MS = 5_000;

/** Sends a notification through the guarded client. Resolves with the status; the body of the answer is not read. */
export async function guardedPost(
  url: URL,
  notice: Pick<GuardedRequest, 'body' | 'headers' | 'policy'>,
): Promise<number> {
  return (await guardedRequest(url, { ...notice, timeoutMs: TIMEOUT_MS, bytesMax: 0 })).status;
}
