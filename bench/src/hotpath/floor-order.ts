import type { Pieces } from './function-template.ts';

/** Holds the settings of the floor proxy, which it receives as JSON. */
export interface FloorOrder {
  origin: string;
  redisUrl: string;
  /** Signs finals and holds. */
  credentialHash: string;
  /** Is the address that its holds and finals name. */
  node: string;
  /** Maps the value of the header `authorization` to its order. */
  payers: Readonly<Record<string, Payer>>;
}

/** Is one account's subscription, which pays for every request of its key. */
export interface Payer {
  accountId: number;
  keyId: number;
  keyHash: string;
  subscriptionId: number;
  modelId: number;
  priceVersionId: number;
  epoch: string;
  wantTokens: number;
  admit: Pieces;
  settle: Pieces;
}
