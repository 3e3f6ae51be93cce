import { useMe } from '../../api/session.ts';
import { UsageView } from './usage-view.tsx';
import { prefetchUsage } from './prefetch-usage.ts';
import type { Prefetch } from '../../page-module.ts';

export const prefetch: Prefetch = (ask, { me, search }) => prefetchUsage(ask, search, me.id);

/** Shows requests of the account that is signed in. */
export function Page() {
  return <UsageView ownerId={useMe().id} />;
}
