import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { isAddressAllowed, type OutboundPolicy } from '@tollgate/contracts';
import { addressesOf } from './name-lookup.ts';

export class AddressRefused extends Error {
  readonly code = 'ADDRESS_REFUSED';
}

/** Resolves a name to all its addresses. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/** Returns the reason why this host must not be dialled, if it is an address; a name is judged by `guardedLookup`. */
export function literalRefusal(
  hostname: string,
  policy: OutboundPolicy,
  { isEncrypted }: { isEncrypted: boolean },
): AddressRefused | undefined {
  const literal = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(literal) !== 0 && !isAddressAllowed(literal, policy, { isEncrypted })
    ? new AddressRefused(`address ${literal} is not allowed`)
    : undefined;
}

/** Looks up a name to dial, and cuts the answer to the addresses that the policy allows: a name that led to a public address when it was saved and to a private one now (DNS rebinding, security S3) is refused here. */
export function guardedLookup(
  policy: OutboundPolicy,
  { isEncrypted, resolve = addressesOf }: { isEncrypted: boolean; resolve?: Resolve },
): LookupFunction {
  const ask = callbackify(resolve);
  return (hostname, options, callback) =>
    ask(hostname, (error, addresses) => {
      if (error) return callback(error, []);
      const allowed = addresses.filter(({ address }) =>
        isAddressAllowed(address, policy, { isEncrypted }),
      );
      const [first] = allowed;
      if (!first)
        return callback(
          new AddressRefused(`${hostname} does not resolve to an allowed address`),
          [],
        );
      return options.all ? callback(null, allowed) : callback(null, first.address, first.family);
    });
}
