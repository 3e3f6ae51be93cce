import { setTimeout as delay } from 'node:timers/promises';
import { isAddressAllowed, type OutboundPolicy } from '@tollgate/contracts';
import { addressesOf } from '@tollgate/outbound';

const LOOKUP_MS = 2_000;

export type Lookup = (name: string) => Promise<readonly { address: string }[]>;

/**
 * Returns whether an unencrypted base URL names a host outside the private ranges: it would be refused when it is dialled. A name that cannot
 * be looked up now is left to that moment. `baseUrl` has passed `checkBaseUrl`, which has judged hosts that are addresses.
 */
export async function isPlainAndPublic(
  baseUrl: string,
  policy: OutboundPolicy,
  lookup: Lookup = addressesOf,
): Promise<boolean> {
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol !== 'http:') return false;
  const found = await Promise.race([
    lookup(hostname.replace(/^\[(.*)\]$/, '$1')).catch(() => []),
    delay(LOOKUP_MS, [], { ref: false }),
  ]);
  return found.some(({ address }) => !isAddressAllowed(address, policy, { isEncrypted: false }));
}
