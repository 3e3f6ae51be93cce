import { UsageView } from '../usage/usage-view.tsx';

/** Requests of all accounts, or of one. */
export function Page() {
  return <UsageView ownerId={undefined} />;
}
