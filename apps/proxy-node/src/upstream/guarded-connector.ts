import { lookup as dnsLookup, type LookupAddress, type LookupAllOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { isAddressAllowed, type OutboundPolicy } from '@tollgate/contracts';
import { buildConnector } from 'undici';

class AddressRefused extends Error {
  readonly code = 'ADDRESS_REFUSED';
}

/** Every address of a name: the system's resolver, or another one's. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * A connector that judges the very address it is about to dial: a literal before dialling, a name inside the lookup whose answer is dialled.
 * A name that resolved to a public address at save and to a private one now (DNS rebinding, security S3) is refused here.
 */
export function guardedConnector({
  policy,
  connectTimeoutMs,
  resolve = dnsLookup,
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
      lookup: guardedLookup(policy, isEncrypted, resolve),
    });
  const dialTls = dial(true);
  const dialPlain = dial(false);
  return (options, callback) => {
    const isEncrypted = options.protocol === 'https:';
    const literal = options.hostname.replace(/^\[(.*)\]$/, '$1');
    if (isIP(literal) !== 0 && !isAddressAllowed(literal, policy, { isEncrypted }))
      return callback(new AddressRefused(`address ${literal} is not allowed`), null);
    (isEncrypted ? dialTls : dialPlain)(options, callback);
  };
}

function guardedLookup(
  policy: OutboundPolicy,
  isEncrypted: boolean,
  resolve: Resolve,
): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      const allowed = addresses.filter(({ address }) =>
        isAddressAllowed(address, policy, { isEncrypted }),
      );
      const first = allowed[0];
      if (!first)
        return callback(
          new AddressRefused(`${hostname} does not resolve to an allowed address`),
          [],
        );
      if (options.all) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}
