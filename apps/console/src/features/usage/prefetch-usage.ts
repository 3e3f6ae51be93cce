import { catalogueQuery } from '../../api/catalogue.ts';
import { keysQuery } from '../../api/keys.ts';
import { subscriptionsQuery } from '../../api/models.ts';
import { requestsQuery, statisticsQuery } from '../../api/usage.ts';
import type { Ask, PageAddress } from '../../page-module.ts';
import { rangeOf } from '../../ui/time/time-range.tsx';
import { isLatency } from './usage-chart.tsx';
import { filterOf, groupOf, readUsageSearch } from './usage-search.ts';

/** Returns what usage of one account, or of all (`ownerId` undefined), asks first. */
export function prefetchUsage(
  ask: Ask,
  address: PageAddress['search'],
  ownerId: number | undefined,
): void {
  const range = rangeOf(address);
  const search = readUsageSearch(address);
  const filter = filterOf(search, ownerId);
  const accountId = filter.user_id;
  ask(
    statisticsQuery(
      { ...filter, group_by: isLatency(search.show) ? undefined : groupOf(search, ownerId) },
      range,
    ),
  );
  if (search.list === 'all')
    ask(requestsQuery({ ...filter, outcome: search.outcome, cursor: search.cursor }, range));
  if (ownerId === undefined) {
    ask(statisticsQuery({ user_id: accountId, group_by: 'upstream' }, range));
    ask(catalogueQuery);
  } else ask(subscriptionsQuery(ownerId));
  if (accountId !== undefined) ask(keysQuery({ user_id: accountId }));
}
