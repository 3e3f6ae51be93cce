import type { OutboundPolicy } from '@tollgate/contracts';
import { guardedLookup, literalRefusal, type Resolve } from '@tollgate/outbound';
import { buildConnector } from 'undici';
import { skipInformational } from './informational-answers.ts';

/** Returns a connector that checks the address that it dials: a literal before dialling, a name inside the lookup whose answer is dialled. */
export function guardedConnector({
  policy,
  connectTimeoutMs,
  resolve,
}: {
  policy: OutboundPolicy;
  connectTimeoutMs: number;
  resolve?: Resolve;
}): buildConnector.connector {
  const dial = (isEncrypted: boolean) =>
    // HTTP/1.1 has one stream per connection, so backpressure and aborts of one client do not affect another's stream.
    buildConnector({
      timeout: connectTimeoutMs,
      allowH2: false,
      lookup: guardedLookup(policy, { isEncrypted, ...(resolve && { resolve }) }),
    });
  const dialTls = dial(true);
  const dialPlain = dial(false);
  return (options, callback) => {
    const isEncrypted = options.protocol === 'https:';
    const refusal = literalRefusal(options.hostname, policy, { isEncrypted });
    if (refusal) return callback(refusal, null);
    (isEncrypted ? dialTls : dialPlain)(options, (...dialled) => {
      if (dialled[1]) skipInformational(dialled[1]);
      callback(...dialled);
    });
  };
}
