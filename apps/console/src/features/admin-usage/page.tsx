import { UsageView } from '../usage/usage-view.tsx';
import { prefetchUsage } from '../usage/prefetch-usage.ts';
import type { Prefetch } from '../../page-module.ts';

export const prefetch: Prefetch = (ask, { search }) => prefetchUsage(ask, search, undefined);

/** Shows requests of all accounts, or of one. */
export function Page() {
  return <UsageView ownerId={undefined} />;
}
