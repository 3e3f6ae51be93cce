import { isSealedId, type IdSealer, type StoredPlace } from '@tollgate/contracts';
import type { StoredIds } from '@tollgate/protocols';

/** Only these say which model made them: a conversation may be of several. */
const RESPONSE_ID = /^resp_/;

/** Ids of what one upstream stores for one account. */
export function storedIdsOf(
  sealer: IdSealer,
  { accountId, upstreamId, modelId }: { accountId: number; upstreamId: number; modelId: number },
): StoredIds {
  // Every event of a stream names its item.
  const known = new Map<string, string>();
  const seal = (id: string): string => {
    const place = { upstreamId, modelId: RESPONSE_ID.test(id) ? modelId : 0, id };
    const sealed = sealer.seal(accountId, place);
    known.set(id, sealed);
    return sealed;
  };
  return {
    seal: (id) => known.get(id) ?? seal(id),
    open: (sealed) => {
      const place = sealer.open(accountId, sealed);
      return place?.upstreamId === upstreamId ? place.id : null;
    },
    isSealed: isSealedId,
  };
}

/** What is stored under an id, and for which of the caller's accounts. */
export type OpenStored = (sealed: string) => (StoredPlace & { accountId: number }) | null;

/** A caller may present several keys; whichever is its own, an id of another account opens for none. */
export function openerFor(sealer: IdSealer, keys: readonly { accountId: number }[]): OpenStored {
  return (sealed) => {
    for (const { accountId } of keys) {
      const place = sealer.open(accountId, sealed);
      if (place) return { ...place, accountId };
    }
    return null;
  };
}
