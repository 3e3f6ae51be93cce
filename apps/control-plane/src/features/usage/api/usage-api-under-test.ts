import { plane } from '../../../testing/ledger-plane-under-test.ts';
import { type EventParts, subscribedAccount } from '../../../testing/ledger-under-test.ts';

export { ledger, plane, worker } from '../../../testing/ledger-plane-under-test.ts';

export const subscribed = (): Promise<EventParts> => subscribedAccount(plane, 1_000_000);

export const get = <Path extends string>(path: Path, token: string) =>
  plane.call('GET', path, { token });
