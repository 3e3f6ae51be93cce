import { isFinalSigned, isHoldSigned, type RelayedEvent } from '@tollgate/contracts';
import { InvalidKeyPart, parseNodeAddress } from '@tollgate/keyspace';
import { z } from 'zod';
import { payloadOf } from './relayed-payload.ts';

const signedOf = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('usage'), node: z.string() }),
  z.object({
    kind: z.literal('reap'),
    node: z.string(),
    account_id: z.number().int(),
    model_id: z.number().int(),
  }),
]);

/** An event that a node signs: its final, or what a hold of it had used when it was reaped. */
export interface SignedEvent {
  relayed: RelayedEvent;
  kind: 'usage' | 'reap';
  /** The node's name. */
  node: string;
  /** Null where it carries none. */
  mac: string | null;
  isSignedBy: (credentialHash: string) => boolean;
}

/** Null for all that no node signs, and what cannot be read. */
export function signedEvent(relayed: RelayedEvent): SignedEvent | null {
  const { text: payload, mac, value } = payloadOf(relayed);
  const signed = readSigned(value);
  if (!signed) return null;
  const { kind } = signed;
  const { rid } = relayed;
  const isSignedBy = (hash: string): boolean => {
    if (mac === null) return false;
    if (kind === 'usage') return isFinalSigned({ rid, payload, mac }, hash);
    const { account_id: accountId, model_id: modelId } = signed;
    // A reap is a first charge, of all that its hold had used.
    if (relayed.seq !== '0') return false;
    const usedTokens = Number(relayed.delta);
    return isHoldSigned({ rid, accountId, modelId, usedTokens }, mac, hash);
  };
  return { relayed, kind, node: signed.name, mac, isSignedBy };
}

function readSigned(payload: unknown): (z.output<typeof signedOf> & { name: string }) | null {
  try {
    const signed = signedOf.safeParse(payload);
    return signed.success
      ? { ...signed.data, name: parseNodeAddress(signed.data.node).name }
      : null;
  } catch (error) {
    if (error instanceof InvalidKeyPart) return null;
    throw error;
  }
}
