import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

const IPV4_IN_IPV6_BITS = 96;

export class InvalidAllowlistEntry extends Error {
  readonly entry: string;
  constructor(entry: string) {
    super(`not an address or CIDR range: ${JSON.stringify(entry)}`);
    this.entry = entry;
  }
}

/** Writes an allow-list as written by people ("10.0.0.0/8, 2001:db8::/32, 1.2.3.4") in the form that `admit` compares: `<32 hex>/<prefix bits>`, comma-separated, host bits zeroed, IPv4 mapped into IPv6 (so `::/0` covers both). '' means any address. Throws InvalidAllowlistEntry naming the bad entry */
export function normaliseAllowlist(text: string): string {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  return [...new Set(entries.map(normaliseEntry))].join(',');
}

/** An address as 32 hex digits, IPv4 mapped into IPv6; '' for what is no address. A zone (`fe80::1%eth0`) is dropped. */
export function addressHex(address: string): string {
  const bare = address.replace(/%.*$/, '');
  return isIP(bare) === 0 ? '' : hexOf(bytesOf(bare));
}

function normaliseEntry(entry: string): string {
  const [, address = '', prefix] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
  const family = isIP(address);
  const bitsMax = family === 4 ? 32 : 128;
  const bits = prefix === undefined ? bitsMax : Number(prefix);
  if (family === 0 || bits > bitsMax) throw new InvalidAllowlistEntry(entry);
  const mappedBits = family === 4 ? bits + IPV4_IN_IPV6_BITS : bits;
  return `${hexOf(bytesOf(address).map((byte, index) => byte & maskOf(mappedBits - index * 8)))}/${mappedBits}`;
}

/** Returns 16 bytes. */
function bytesOf(address: string): number[] {
  const parsed = ipaddr.parse(address);
  return parsed instanceof ipaddr.IPv4
    ? parsed.toIPv4MappedAddress().toByteArray()
    : parsed.toByteArray();
}

/** Returns the mask of a byte of which `bits` leading bits count. */
function maskOf(bits: number): number {
  return (0xff << (8 - Math.min(8, Math.max(0, bits)))) & 0xff;
}

function hexOf(bytes: readonly number[]): string {
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
