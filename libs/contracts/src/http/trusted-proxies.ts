import ipaddr from 'ipaddr.js';

export type AddressRange = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Parses a comma-separated list of addresses and CIDR ranges. Throws an Error naming the entry that is neither. */
export function parseRanges(text: string): AddressRange[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean)
    .map((entry) => {
      if (!entry.includes('/'))
        return [ipaddr.parse(entry), ipaddr.parse(entry).kind() === 'ipv4' ? 32 : 128];
      return ipaddr.parseCIDR(entry);
    });
}

export function isTrustedProxy(address: string, trusted: readonly AddressRange[]): boolean {
  if (trusted.length === 0 || !ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return trusted.some(
    ([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits),
  );
}

/**
 * Returns the caller's address. X-Forwarded-For is read from the right and only as far as trusted proxies wrote it, because the caller can invent its
 * left end (CVE-2026-110726).
 */
export function callerAddress(
  peer: string,
  forwardedFor: string,
  trusted: readonly AddressRange[],
): string {
  if (trusted.length === 0) return peer;
  const hops = forwardedFor.split(',');
  let address = peer;
  for (
    let hop = hops.pop()?.trim();
    hop && isTrustedProxy(address, trusted);
    hop = hops.pop()?.trim()
  )
    address = hop;
  return address;
}
