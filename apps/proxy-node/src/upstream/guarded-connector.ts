import type { OutboundPolicy } from '@tollgate/contracts';
import { guardedLookup, literalRefusal, type Resolve } from '@tollgate/outbound';
import { buildConnector } from 'undici';
import { skipInformational } from './informational-answers.ts';

/** A connector that judges the very address it is about to dial: a literal before dialling, a name inside the lookup whose answer is dialled. */
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
    // HTTP/1.1 only: one stream per connection keeps backpressure and aborts of one client from touching another's.
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
