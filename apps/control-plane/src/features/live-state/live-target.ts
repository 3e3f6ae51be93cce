/** What of PostgreSQL has a copy in Redis, by the id of its row. A credit or withdrawal names its subscription. */
export interface LiveTarget {
  kind: 'account' | 'key' | 'subscription' | 'credit' | 'withdrawal';
  id: number;
}

/** `withdrawal`: the subscription, and after it what was withdrawn from it lately. */
export interface LiveRecord {
  kind: 'account' | 'key' | 'subscription' | 'withdrawal';
  id: number;
}

/** Credits are part of bringing their subscription up to date, so one write serves both. */
export function recordOf({ kind, id }: LiveTarget): LiveRecord {
  return { kind: kind === 'credit' ? 'subscription' : kind, id };
}
