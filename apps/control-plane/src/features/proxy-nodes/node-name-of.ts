import { InvalidKeyPart, parseNodeAddress } from '@tollgate/keyspace';
import { remembered } from '../../platform/remembered.ts';

const KEPT_MAX = 1_000;

/** The name in the address of a node's worker, as its events carry it; undefined for what is none. */
export const nodeNameOf = remembered((address): string | undefined => {
  try {
    return parseNodeAddress(address).name;
  } catch (error) {
    if (error instanceof InvalidKeyPart) return undefined;
    throw error;
  }
}, KEPT_MAX);
