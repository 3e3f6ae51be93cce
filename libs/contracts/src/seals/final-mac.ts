import { timingSafeEqual } from 'node:crypto';
import { hmacSha256 } from './hmac-sha256.ts';

/**
 * A node signs its finals, because an attacker could write to Redis, through which they reach PostgreSQL. The MAC is the last member of the payload's
 * JSON text, so that each step passes it on unread.
 */
const MAC_TAIL = /^,"mac":"([0-9a-f]{64})"\}$/;
const TAIL_LENGTH = ',"mac":""}'.length + 64;

export interface FinalText {
  rid: string;
  /** Is the JSON text of a `UsageFinal`, without a MAC. */
  payload: string;
}

/** Returns the payload with its MAC. `credentialHash` comes from `hashCredential`. */
export function signFinal(final: FinalText, credentialHash: string): string {
  return `${final.payload.slice(0, -1)},"mac":"${macOf(final, credentialHash)}"}`;
}

/** Splits a payload into the signed text and its MAC, which is null where there is none. */
export function splitFinal(text: string): { payload: string; mac: string | null } {
  const mac = MAC_TAIL.exec(text.slice(-TAIL_LENGTH))?.[1] ?? null;
  return { payload: mac === null ? text : textBeforeMac(text), mac };
}

/** Returns the signed text of a payload that has a MAC. */
export function textBeforeMac(text: string): string {
  return `${text.slice(0, -TAIL_LENGTH)}}`;
}

export function isFinalSigned(
  { mac, ...final }: FinalText & { mac: string },
  credentialHash: string,
): boolean {
  return timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(final, credentialHash)));
}

function macOf({ rid, payload }: FinalText, credentialHash: string): string {
  // The bytes equal those of JSON.stringify over the three values, which takes longer.
  const text = `["final",${JSON.stringify(rid.toLowerCase())},${JSON.stringify(payload)}]`;
  return hmacSha256(text, credentialHash);
}
