/** What of PostgreSQL has a copy in Redis, by the id of its row. A credit or withdrawal names its subscription. */
export interface LiveTarget {
  kind: 'account' | 'key' | 'subscription' | 'credit' | 'withdrawal';
  id: number;
}

/** Credits and withdrawals are part of bringing their subscription up to date, so one write serves all three. */
export function recordOf(target: LiveTarget): {
  kind: 'account' | 'key' | 'subscription';
  id: number;
} {
  switch (target.kind) {
    case 'account':
    case 'key':
      return { kind: target.kind, id: target.id };
    case 'subscription':
    case 'credit':
    case 'withdrawal':
      return { kind: 'subscription', id: target.id };
  }
}
