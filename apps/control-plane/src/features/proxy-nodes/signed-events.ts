import { isFinalSigned, isHoldSigned, textBeforeMac, type RelayedEvent } from '@tollgate/contracts';
import { z } from 'zod';
import { nodeNameOf, payloadOf } from './relayed-payload.ts';

const signedOf = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('usage'), node: z.string() }),
  z.object({
    kind: z.literal('reap'),
    node: z.string(),
    account_id: z.number().int(),
    model_id: z.number().int(),
    budgets: z.string().optional(),
  }),
]);

/** Is an event that a node signs: its final, or what a hold of it had used when it was reaped. */
export interface SignedEvent {
  kind: 'usage' | 'reap';
  /** Is the name of the node that signed. */
  node: string;
  /** Is false where it carries no MAC. */
  isSignedBy: (credentialHash: string) => boolean;
}

/** Returns null for everything that no node signs, and for what cannot be read. */
export function signedEvent(relayed: RelayedEvent): SignedEvent | null {
  const { mac, value, plain } = payloadOf(relayed);
  const signed = plain ?? signedOf.safeParse(value).data;
  const node = signed && nodeNameOf(signed.node);
  if (!signed || node === undefined) return null;
  const { kind } = signed;
  const { rid } = relayed;
  const isSignedBy = (hash: string): boolean => {
    if (mac === null) return false;
    if (kind === 'usage')
      return isFinalSigned({ rid, payload: textBeforeMac(relayed.payload), mac }, hash);
    const { account_id: accountId, model_id: modelId, budgets: claims } = signed;
    // A reap is a first charge, of all that its hold had used.
    if (relayed.seq !== '0') return false;
    const usedTokens = Number(relayed.delta);
    const use = { rid, accountId, modelId, usedTokens };
    // A node learns the budgets as it is admitted, so it has signed them once it has counted something.
    return (
      isHoldSigned({ ...use, claims }, mac, hash) ||
      (usedTokens === 0 && isHoldSigned(use, mac, hash))
    );
  };
  return { kind, node, isSignedBy };
}
