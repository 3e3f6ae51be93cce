import type { LockedSubscription } from '../../subscriptions/token-ledger.service.ts';

export interface Overdrawn {
  subscriptionId: number;
  tokens: number;
}

export function overdraftsOf(locked: ReadonlyMap<number, LockedSubscription>): Map<number, number> {
  return new Map([...locked].map(([id, { overdraft }]) => [id, overdraft]));
}

/** Judged at the end of a batch: in between, a withdrawal may stand on a charge whose correction the same batch brings. */
export function overdrawnSince(
  before: ReadonlyMap<number, number>,
  locked: ReadonlyMap<number, LockedSubscription>,
): Overdrawn[] {
  return [...locked.values()]
    .map(({ id, overdraft }) => ({
      subscriptionId: id,
      tokens: overdraft - Math.max(0, before.get(id) ?? 0),
    }))
    .filter(({ tokens }) => tokens > 0);
}
