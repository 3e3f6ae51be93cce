import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { OutboundPolicy } from '@tollgate/contracts';
import { guardedLookup, literalRefusal } from '@tollgate/outbound';

export interface GuardedRequest {
  method?: 'GET' | 'POST';
  /** Is empty for GET. */
  body: string;
  headers: Record<string, string>;
  policy: OutboundPolicy;
  timeoutMs: number;
  /** Limits the bytes to read of an answer; a longer answer is cut. */
  bytesMax: number;
}

export interface GuardedAnswer {
  status: number;
  text: string;
}

/**
 * Sends a request through the control plane's only way out (security S7). The client checks the address when it connects, refuses addresses that the
 * policy does not allow, and follows no redirect. Rejects when the address is refused or no answer comes in time.
 */
export function guardedRequest(url: URL, options: GuardedRequest): Promise<GuardedAnswer> {
  const { method = 'POST', body, headers, policy, timeoutMs, bytesMax } = options;
  const isEncrypted = url.protocol === 'https:';
  const refusal = literalRefusal(url.hostname, policy, { isEncrypted });
  if (refusal) return Promise.reject(refusal);
  return new Promise((resolve, reject) => {
    const request = (isEncrypted ? requestHttps : requestHttp)(
      url,
      // Each request opens its own connection, because a kept connection would not be checked again.
      {
        method,
        agent: false,
        headers: { ...headers, ...(body !== '' && { 'content-length': Buffer.byteLength(body) }) },
        lookup: guardedLookup(policy, { isEncrypted }),
        signal: AbortSignal.timeout(timeoutMs),
      },
      (response) => {
        readText(response, bytesMax).then(
          (text) => resolve({ status: response.statusCode ?? 0, text }),
          reject,
        );
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

async function readText(response: IncomingMessage, bytesMax: number): Promise<string> {
  const pieces: Buffer[] = [];
  let left = bytesMax;
  for await (const piece of left > 0 ? response : []) {
    const bytes = Buffer.from(piece).subarray(0, left);
    pieces.push(bytes);
    left -= bytes.length;
    if (left === 0) break;
  }
  response.destroy();
  return Buffer.concat(pieces).toString('utf8');
}
