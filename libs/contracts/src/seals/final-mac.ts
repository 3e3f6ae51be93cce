import { timingSafeEqual } from 'node:crypto';
import { hmacSha256 } from './hmac-sha256.ts';

/**
 * A node signs its finals, because what passes through Redis on its way to PostgreSQL could be written there by an attacker.
 * The MAC is the last member of the payload's JSON text, so that every place the payload passes hands it on unread.
 */
const MAC_TAIL = /^,"mac":"([0-9a-f]{64})"\}$/;
const TAIL_LENGTH = ',"mac":""}'.length + 64;

export interface FinalText {
  rid: string;
  /** JSON text of a `UsageFinal`, without a MAC. */
  payload: string;
}

/** The payload with its MAC; `credentialHash` as `hashCredential` makes it. */
export function signFinal(final: FinalText, credentialHash: string): string {
  return `${final.payload.slice(0, -1)},"mac":"${macOf(final, credentialHash)}"}`;
}

/** A payload as it was signed, and its MAC; null where it carries none. */
export function splitFinal(text: string): { payload: string; mac: string | null } {
  const mac = MAC_TAIL.exec(text.slice(-TAIL_LENGTH))?.[1] ?? null;
  return { payload: mac === null ? text : textBeforeMac(text), mac };
}

/** The same of a text that is known to carry one. */
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
  // The bytes equal those of the JSON of the three, which takes longer.
  const text = `["final",${JSON.stringify(rid.toLowerCase())},${JSON.stringify(payload)}]`;
  return hmacSha256(text, credentialHash);
}
