import { isSealedId, type IdSealer, type StoredMaker, type StoredPlace } from '@tollgate/contracts';
import type { CredentialRef } from './identity/provider-tokens.ts';
import type { StoredIds } from '@tollgate/protocols';

/** Returns the place of the object with an id that a caller gave; null when there is none that the caller's key may reach. */
export type OpenStored = (sealed: string) => StoredPlace | null;

/** Names the owner of these ids, and the caller for whom they are opened. */
export interface StoredIdsOf {
  readonly accountId: number;
  readonly upstreamId: number;
  readonly credentialId?: number | undefined;
  /** Is the maker of ids that are sealed from now on. */
  readonly maker: StoredMaker;
  readonly open: OpenStored;
}

/** Seals and opens ids of what one upstream stores for one account. */
export function storedIdsOf(
  sealer: IdSealer,
  { accountId, upstreamId, credentialId = 0, maker, open }: StoredIdsOf,
): StoredIds {
  // Every event of a stream names its item. An id that the caller has used keeps its text.
  const known = new Map<string, string>();
  const seal: StoredIds['seal'] = (id, thread) => {
    const sealed = sealer.seal(accountId, {
      ...{ upstreamId, ...maker, id },
      ...(credentialId > 0 && { credentialId }),
      ...(thread && { thread }),
    });
    known.set(id, sealed);
    return sealed;
  };
  return {
    seal: (id, thread) => known.get(id) ?? seal(id, thread),
    open: (sealed) => {
      const place = open(sealed);
      if (!place || !isKeptBy({ id: upstreamId, credentialId }, place)) return null;
      known.set(place.id, sealed);
      return place.id;
    },
    isSealed: isSealedId,
  };
}

/** Returns whether an object is in the account of this credential. */
export function isKeptBy(
  { id, credentialId = 0 }: CredentialRef,
  place: Pick<StoredPlace, 'upstreamId' | 'credentialId'>,
): boolean {
  return place.upstreamId === id && (place.credentialId ?? 0) === credentialId;
}

export function madeWith(modelId: number): StoredMaker {
  return { modelIds: [modelId], keyId: null };
}
