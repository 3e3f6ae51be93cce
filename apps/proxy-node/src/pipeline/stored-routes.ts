import {
  fieldName,
  fileRefused,
  fileReference,
  isNative,
  storedReferences,
  type Ask,
} from '@tollgate/protocols';
import { Refusal } from '../refusals.ts';
import type { Candidate, CandidateGroups } from '../snapshot/routing-index.ts';
import type { Credentials } from './authenticate.ts';
import type { OpenStored } from '../upstream/stored-ids.ts';

export interface StoredRoutes {
  readonly candidates: CandidateGroups;
  /** The account for which the request's references are stored; null for a request without any. */
  readonly storedBy: number | null;
}

/**
 * A request that continues from what an upstream has stored can be served by that upstream alone. Throws Refusal where nothing is stored for its caller.
 * An item that no upstream stores may be one of a translated answer: the routes that translate say what becomes of it.
 */
export function routesToStored(
  ask: Pick<Ask, 'protocol' | 'body'>,
  candidates: CandidateGroups,
  open: OpenStored,
): StoredRoutes {
  const references = storedReferences(ask);
  const stores = ({ upstream }: Candidate): boolean => isNative(ask.protocol, upstream);
  if (references.length === 0 || !candidates.flat().some(stores))
    return { candidates, storedBy: null };
  const places = references.map(({ id }) => open(id));
  const [first] = places;
  const strange = places.findIndex(
    (place) =>
      !first || place?.upstreamId !== first.upstreamId || place.accountId !== first.accountId,
  );
  const isTranslated = strange >= 0 && references.every(({ isItem }) => isItem);
  const left = only(candidates, (candidate) =>
    isTranslated
      ? !stores(candidate)
      : stores(candidate) && candidate.upstream.id === first?.upstreamId,
  );
  const named = references[Math.max(0, strange)];
  if (left.length === 0 || (strange >= 0 && !isTranslated))
    throw storedNotFound(named?.id ?? '', named ? fieldName(named.path) : null);
  return { candidates: left, storedBy: isTranslated ? null : (first?.accountId ?? null) };
}

/** A request that names files of a provider's account goes to upstreams that let their customers do so. Throws InvalidRequest where none does. */
export function routesToFiles(
  ask: Pick<Ask, 'protocol' | 'body'>,
  candidates: CandidateGroups,
): CandidateGroups {
  const file = fileReference(ask);
  if (!file) return candidates;
  const left = only(candidates, ({ upstream }) => upstream.passes_file_ids ?? false);
  if (left.length === 0) throw fileRefused(file);
  return left;
}

/** What continues from an account's stored answers is that account's request alone. */
export function keysOf(
  { storedBy }: Pick<StoredRoutes, 'storedBy'>,
  presented: Credentials,
): Credentials {
  const [own, ...more] = presented.filter(({ accountId }) => accountId === storedBy);
  return own ? [own, ...more] : presented;
}

/** One that is another account's, one that is damaged and one that is gone are refused alike. */
export function storedNotFound(id: string, param: string | null = null): Refusal {
  const detail = `Nothing with the id \`${id}\` is stored for this account.`;
  return new Refusal('stored_not_found', { param, detail });
}

function only(
  groups: CandidateGroups,
  isWanted: (candidate: Candidate) => boolean,
): CandidateGroups {
  return groups
    .map((group) => group.filter((candidate) => isWanted(candidate)))
    .filter((group) => group.length > 0);
}
