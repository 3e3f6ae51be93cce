import type { IncomingMessage } from 'node:http';
import { addressHex } from '@tollgate/keyspace';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type AddressRange = readonly [Address, number];

/** Throws an Error naming the entry that is neither an address nor a range. */
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

/**
 * The caller's address as 32 hex digits (IPv4 mapped into IPv6), '' when unknown. X-Forwarded-For is read from the right and only as far
 * as trusted proxies wrote it: its left end is the caller's own invention (CVE-2026-110726).
 */
export function clientAddressHex(
  incoming: IncomingMessage,
  trusted: readonly AddressRange[],
): string {
  const peer = incoming.socket.remoteAddress ?? '';
  return rememberedHex(
    trusted.length === 0
      ? peer
      : callerBehind(peer, String(incoming.headers['x-forwarded-for'] ?? '').split(','), trusted),
  );
}

/** Callers come back: reading an address costs more than remembering it. Emptied when full, so that it cannot grow. */
const REMEMBERED_MAX = 4_096;
const remembered = new Map<string, string>();

function rememberedHex(address: string): string {
  const known = remembered.get(address);
  if (known !== undefined) return known;
  if (remembered.size >= REMEMBERED_MAX) remembered.clear();
  const hex = addressHex(address);
  remembered.set(address, hex);
  return hex;
}

function callerBehind(peer: string, hops: string[], trusted: readonly AddressRange[]): string {
  let address = peer;
  for (let hop = hops.pop()?.trim(); hop && isTrusted(address, trusted); hop = hops.pop()?.trim())
    address = hop;
  return address;
}

function isTrusted(text: string, ranges: readonly AddressRange[]): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  return ranges.some(
    ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
  );
}
