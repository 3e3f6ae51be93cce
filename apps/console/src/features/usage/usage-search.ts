import { OUTCOMES } from '../../api/tables.ts';
import type { UsageFilter } from '../../api/usage.ts';
import type { PageAddress } from '../../page-module.ts';
import {
  optional,
  useSearchState,
  withDefault,
  z,
  type SearchOf,
} from '../../ui/tables/search-state.ts';

const id = z.coerce.number().check(z.int(), z.positive());

const schema = z.object({
  show: withDefault(
    z.enum(['charge', 'requests', 'errors', 'duration_ms', 'first_token_ms']),
    'charge',
  ),
  group: withDefault(z.enum(['model', 'key', 'user', 'upstream']), 'model'),
  user_id: optional(id),
  model_id: optional(id),
  key_id: optional(id),
  upstream_id: optional(id),
  list: withDefault(z.enum(['all', 'failed', 'refused', 'running']), 'all'),
  outcome: optional(z.enum(OUTCOMES.map(({ name }) => name))),
  cursor: optional(z.string()),
});

export type UsageSearch = SearchOf<typeof schema>;
/** Names requests that ended, those of them that did not complete, those that were refused before they began, or those that run now. */
export type RequestList = UsageSearch['list'];

export function useUsageSearch() {
  return useSearchState(schema);
}

export function readUsageSearch(search: PageAddress['search']): UsageSearch {
  return schema.parse(search);
}

/** Returns what of the address narrows usage down: for one account, or for all where there is no owner. */
export function filterOf(
  { user_id, model_id, key_id, upstream_id }: UsageSearch,
  ownerId: number | undefined,
): UsageFilter {
  const shared = { user_id: ownerId ?? user_id, model_id, key_id };
  return ownerId === undefined ? { ...shared, upstream_id } : shared;
}

/** Returns the group of the address, or the first one where it is not for this reader. */
export function groupOf(
  { group }: Pick<UsageSearch, 'group'>,
  ownerId: number | undefined,
): UsageSearch['group'] {
  return groupsOf(ownerId).includes(group) ? group : 'model';
}

/** Returns the groupings of sums: one account has one user, and upstreams are the operator's. */
export function groupsOf(ownerId: number | undefined): readonly UsageSearch['group'][] {
  return ownerId === undefined ? ['model', 'user', 'upstream', 'key'] : ['model', 'key'];
}
