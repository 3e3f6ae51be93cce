import type { OutboundPolicy } from '@tollgate/contracts';
import type { TokenRequest } from '@tollgate/protocols';
import { Client } from 'undici';
import type { TokenAnswer } from './identity/provider-tokens.ts';
import { guardedConnector } from './guarded-connector.ts';

const CONNECT_MS = 5_000;
const ANSWER_MS = 10_000;
const ANSWER_BYTES_MAX = 65_536;

/** Sends a request for a token on its own connection, to an address that the policy allows. Redirects are not followed. */
export function askToken(policy: OutboundPolicy): (request: TokenRequest) => Promise<TokenAnswer> {
  return async ({ url, body }) => {
    const { origin, pathname } = new URL(url);
    const client = new Client(origin, {
      connect: guardedConnector({ policy, connectTimeoutMs: CONNECT_MS }),
      maxResponseSize: ANSWER_BYTES_MAX,
    });
    try {
      const answer = await client.request({
        method: 'POST',
        path: pathname,
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          accept: 'application/json',
        },
        body,
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      const { date } = answer.headers;
      return {
        status: answer.statusCode,
        body: await answer.body.text(),
        date: typeof date === 'string' ? date : undefined,
      };
    } finally {
      client.destroy().catch(() => undefined);
    }
  };
}
