import type { ParsedApiKey, StoredPlace } from '@tollgate/contracts';
import { storedReferences, type Ask } from '@tollgate/protocols';
import type { RoutingIndex } from '../snapshot/routing-index.ts';
import type { OpenStored } from '../upstream/stored-ids.ts';
import { isConversation, type Reach, type StoredReach } from '../upstream/stored-reach.ts';
import type { Admitter } from './admission/admit.ts';
import { unavailable } from './admission/admit-refusal.ts';
import type { Credentials } from './request/authenticate.ts';
import type { KnownCaller } from './admission/caller-access.ts';

/** Lists the stored objects that a request may name. */
export interface NamedStored {
  readonly open: OpenStored;
  /** Is the key whose request it is; null where any presented key serves, because the request names nothing. */
  readonly key: ParsedApiKey | null;
  /** Is the conversation that the request continues. */
  readonly conversation: StoredPlace | null;
}

export interface StoredAsking {
  readonly keys: Credentials;
  readonly addressHex: string;
  readonly index: RoutingIndex;
  readonly admitter: Pick<Admitter, 'each'>;
  readonly reach: Pick<StoredReach, 'of'>;
}

type Named = Pick<Ask, 'protocol' | 'body'>;

export const NOTHING_STORED: NamedStored = { open: () => null, key: null, conversation: null };

/** Opens what a request that `namesStored` names for the first presented key that reaches all of it. Throws Refusal where no key may come in. */
export async function namedStored(ask: Named, asking: StoredAsking): Promise<NamedStored> {
  const { keys, addressHex, index, admitter, reach } = asking;
  const ids = storedReferences(ask).map(({ id }) => id);
  let first: NamedStored | undefined;
  for (const caller of await admitter.each(keys, addressHex)) {
    const { open } = await reach.of(caller, ids, index).catch(unanswered);
    const places = ids.map((id) => open(id));
    const named = namedBy(caller, open, places);
    if (places.every((place) => place !== null)) return named;
    first ??= named;
  }
  return first ?? NOTHING_STORED;
}

interface Used {
  asked: { model: { id: number } };
  admitted: { accountId: number };
}

/** A key that may not use this model does not reach the conversation from now on. */
export async function noteUse(
  reach: Pick<StoredReach, 'used'>,
  conversation: StoredPlace,
  { asked, admitted }: Used,
): Promise<void> {
  await reach.used(admitted, conversation, asked.model.id).catch(unanswered);
}

function namedBy(
  { key }: KnownCaller,
  open: Reach['open'],
  places: readonly (StoredPlace | null)[],
): NamedStored {
  const conversation = places.find((place) => place !== null && isConversation(place)) ?? null;
  return { open, key, conversation };
}

/** An object about which Redis cannot answer is not reached. */
export function unanswered(): never {
  throw unavailable();
}
