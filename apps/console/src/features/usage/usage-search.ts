import type { UsageFilter } from '../../api/usage.ts';
import { optional, useSearchState, withDefault, z, type SearchOf } from '../../ui/search-state.ts';

const id = z.coerce.number().check(z.int(), z.positive());

const schema = z.object({
  show: withDefault(
    z.enum(['charge', 'requests', 'errors', 'duration_ms', 'first_token_ms']),
    'charge',
  ),
  group: withDefault(z.enum(['model', 'key', 'upstream']), 'model'),
  model_id: optional(id),
  key_id: optional(id),
  outcome: optional(
    z.enum([
      'completed',
      'client_closed',
      'upstream_failed',
      'upstream_interrupted',
      'balance_exhausted',
      'access_revoked',
      'node_stopped',
      'node_lost',
    ]),
  ),
  cursor: optional(z.string()),
});

export type UsageSearch = SearchOf<typeof schema>;

export function useUsageSearch() {
  return useSearchState(schema);
}

/** What of the address narrows usage down, for one account. */
export function filterOf({ model_id, key_id }: UsageSearch, userId: number): UsageFilter {
  return { user_id: userId, model_id, key_id };
}
