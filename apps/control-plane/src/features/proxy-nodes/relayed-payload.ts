import { isPlainFinal, splitFinal, type RelayedEvent, type UsageFinal } from '@tollgate/contracts';
import { InvalidKeyPart, parseNodeAddress } from '@tollgate/keyspace';
import { parseJson } from '../../platform/parse-json.ts';
import { remembered } from '../../platform/remembered.ts';

interface RelayedPayload {
  /** Is null where it carries none. */
  mac: string | null;
  /** Is undefined where the text is no JSON. */
  value: unknown;
  /** Is the value, where it is a final that needs no schema. */
  plain: UsageFinal | null;
  /** Names the part that was read. */
  of: string;
}

/** Is a field on the event itself: a `WeakMap` of some thousand events costs the collector 3 us an event. */
const READ = Symbol('payload');

/** Reads the payload of an event once: its proof, its booking and its acknowledgement all need it. */
export function payloadOf(relayed: RelayedEvent & { [READ]?: RelayedPayload }): RelayedPayload {
  const found = relayed[READ];
  if (found?.of === relayed.payload) return found;
  const { payload: text, mac } = splitFinal(relayed.payload);
  const value = parseJson(text);
  const plain = isPlainFinal(value) ? value : null;
  return (relayed[READ] = { mac, value, plain, of: relayed.payload });
}

const NAMES_KEPT_MAX = 1_000;

/** Returns the node's name in the address of a worker, as its events carry it; undefined for a text that is no address. */
export const nodeNameOf = remembered((address): string | undefined => {
  try {
    return parseNodeAddress(address).name;
  } catch (error) {
    if (error instanceof InvalidKeyPart) return undefined;
    throw error;
  }
}, NAMES_KEPT_MAX);
