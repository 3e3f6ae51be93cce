import { timingSafeEqual } from 'node:crypto';
import { hmacSha256 } from './hmac-sha256.ts';

/**
 * A node signs the use of its holds with every call that changes it. The MAC stays with the hold in Redis and leaves with the charge of a reap, which
 * Redis' own function writes. Without it, someone who can write to Redis could charge accounts in the name of nodes that are gone.
 */
export interface HoldUse {
  rid: string;
  accountId: number;
  modelId: number;
  /** Counts the charged tokens that a reap charges. */
  usedTokens: number;
  /** Names the budgets that the hold counts against, as `readClaims` reads them; absent without budgets, and until Redis has named them. */
  claims?: string | undefined;
}

/** Returns a MAC in hex. `credentialHash` comes from `hashCredential`. */
export type SignHold = (use: HoldUse) => string;

export function holdSigner(credentialHash: string): SignHold {
  return ({ rid, accountId, modelId, usedTokens, claims = '' }) => {
    const signedClaims = claims === '' ? '' : `,"${claims}"`;
    return hmacSha256(
      `["hold","${rid.toLowerCase()}",${accountId},${modelId},${usedTokens}${signedClaims}]`,
      credentialHash,
    );
  };
}

/** `mac` has 64 hex digits, as `splitFinal` finds it. */
export function isHoldSigned(use: HoldUse, mac: string, credentialHash: string): boolean {
  return timingSafeEqual(Buffer.from(mac), Buffer.from(holdSigner(credentialHash)(use)));
}
