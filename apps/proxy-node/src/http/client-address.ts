import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type AddressRange = readonly [Address, number];

/** Throws an Error naming the entry that is neither an address nor a range. */
export function parseRanges(text: string): AddressRange[] {
  return text.split(',').map((entry) => entry.trim()).filter(Boolean).map((entry) => {
    if (!entry.includes('/')) return [ipaddr.parse(entry), ipaddr.parse(entry).kind() === 'ipv4' ? 32 : 128];
    return ipaddr.parseCIDR(entry);
  });
}

/**
 * The caller's address as 32 hex digits (IPv4 mapped into IPv6), '' when unknown. X-Forwarded-For is read from the right and only as far
 * as trusted proxies wrote it: its left end is the caller's own invention (CVE-2026-110726).
 */
export function clientAddressHex(incoming: IncomingMessage, trusted: readonly AddressRange[]): string {
  let address = parse(incoming.socket.remoteAddress);
  if (trusted.length > 0) {
    const hops = String(incoming.headers['x-forwarded-for'] ?? '').split(',');
    while (address && isTrusted(address, trusted) && hops.length > 0) {
      const hop = hops.pop()?.trim();
      if (!hop) break;
      address = parse(hop);
    }
  }
  return address ? toHex(address) : '';
}

function parse(text: string | undefined): Address | undefined {
  return text !== undefined && ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
}

function isTrusted(address: Address, ranges: readonly AddressRange[]): boolean {
  return ranges.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}

function toHex(address: Address): string {
  const mapped = address.kind() === 'ipv4' ? (address as ipaddr.IPv4).toIPv4MappedAddress() : address;
  return mapped.toByteArray().map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
