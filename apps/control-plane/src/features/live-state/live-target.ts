import { z } from 'zod';

/**
 * Names the rows of PostgreSQL that have a copy in Redis, by their ids. `subscription`: with its credits. `withdrawal`: the subscription, and after it what was
 * withdrawn from it lately.
 */
export interface LiveRecord {
  kind: 'account' | 'key' | 'subscription' | 'withdrawal';
  id: number;
}

/** Releases before this one promise credits by a name of their own. */
const kind = z
  .enum(['account', 'key', 'subscription', 'withdrawal', 'credit'])
  .transform((name) => (name === 'credit' ? 'subscription' : name));

/** A promised write, as it waits in the outbox. */
export const promisedRow = z
  .object({ id: z.string(), kind, target_id: z.number() })
  .transform((row) => ({ rowId: row.id, kind: row.kind, id: row.target_id }));
