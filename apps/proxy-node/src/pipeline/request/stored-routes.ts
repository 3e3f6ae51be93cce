import {
  fieldName,
  fileRefused,
  fileReference,
  isNative,
  storedReferences,
  type Ask,
} from '@tollgate/protocols';
import { Refusal } from '../../refusals.ts';
import type { Candidate, CandidateGroups } from '../../snapshot/routing-index.ts';
import { isKeptBy, type OpenStored } from '../../upstream/stored-ids.ts';

/**
 * Returns the routes: a request that continues from what an upstream has stored can be served by that upstream alone. Throws Refusal where nothing is stored for its caller.
 * An item that no upstream stores may be one of a translated answer: the routes that translate say what becomes of it.
 */
export function routesToStored(
  ask: Pick<Ask, 'protocol' | 'body'>,
  candidates: CandidateGroups,
  open: OpenStored,
): CandidateGroups {
  const references = storedReferences(ask);
  const stores = ({ upstream }: Candidate): boolean => isNative(ask.protocol, upstream);
  if (references.length === 0 || !candidates.flat().some(stores)) return candidates;
  const places = references.map(({ id }) => open(id));
  const [first] = places;
  const strange = places.findIndex(
    (place) =>
      !first ||
      !place ||
      !isKeptBy({ id: first.upstreamId, credentialId: first.credentialId }, place),
  );
  const isTranslated = strange >= 0 && references.every(({ isItem }) => isItem);
  const left = only(candidates, (candidate) =>
    isTranslated
      ? !stores(candidate)
      : stores(candidate) && first != null && isKeptBy(candidate.upstream, first),
  );
  const named = references[Math.max(0, strange)];
  if (left.length > 0 && (strange < 0 || isTranslated)) return left;
  const param = named ? fieldName(named.path) : null;
  throw places.includes(null)
    ? storedNotFound(named?.id ?? '', param)
    : storedElsewhere(named?.id ?? '', param);
}

/** Returns the routes: a request that names files of a provider's account goes to upstreams that let their customers do so. Throws InvalidRequest where none does. */
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

/** One that is another account's, one of a model that the key may not use, one that is damaged and one that is gone are refused alike. */
export function storedNotFound(id: string, param: string | null = null): Refusal {
  const detail = `Nothing with the id \`${id}\` is stored for this account.`;
  return new Refusal('stored_not_found', { param, detail });
}

/** Its caller reads it by GET: another model, or another object of the request, belongs to another upstream. */
function storedElsewhere(id: string, param: string | null): Refusal {
  const detail = `\`${id}\` is stored at an upstream that this request cannot use: its model has no route there, or it names what another upstream stores. Name a model that was used with it, or send the items themselves.`;
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
