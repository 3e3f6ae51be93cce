import { useMe } from '../../api/session.ts';
import { UsageView } from './usage-view.tsx';

/** Requests of the account that is signed in. */
export function Page() {
  return <UsageView ownerId={useMe().id} />;
}
