import type { IncomingMessage } from 'node:http';
import { callerAddress, type AddressRange } from '@tollgate/contracts';
import { addressHex } from '@tollgate/keyspace';

/** Returns the caller's address as 32 hex digits (IPv4 mapped into IPv6); '' when it is unknown. */
export function clientAddressHex(
  incoming: IncomingMessage,
  trusted: readonly AddressRange[],
): string {
  const peer = incoming.socket.remoteAddress ?? '';
  const forwardedFor = trusted.length === 0 ? '' : incoming.headers['x-forwarded-for'];
  return rememberedHex(callerAddress(peer, String(forwardedFor ?? ''), trusted));
}

/** Callers return, and parsing an address costs more than a lookup. The cache is emptied when it is full. */
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
