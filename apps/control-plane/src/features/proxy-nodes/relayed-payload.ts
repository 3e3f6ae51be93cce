import { splitFinal, type RelayedEvent } from '@tollgate/contracts';
import { parseJson } from '../../platform/parse-json.ts';

interface RelayedPayload {
  /** As it was signed. */
  text: string;
  /** Null where it carries none. */
  mac: string | null;
  /** Undefined where the text is no JSON. */
  value: unknown;
}

const known = new WeakMap<RelayedEvent, RelayedPayload>();

/** The payload of an event, read once: its proof, its booking and its acknowledgement all need it. */
export function payloadOf(relayed: RelayedEvent): RelayedPayload {
  const found = known.get(relayed);
  if (found) return found;
  const { payload: text, mac } = splitFinal(relayed.payload);
  const read = { text, mac, value: parseJson(text) };
  known.set(relayed, read);
  return read;
}
