import { z } from 'zod';

/**
 * Names a row of PostgreSQL that has a copy in Redis, by its id. `subscription` includes its credits; `withdrawal` is the subscription and then its
 * recent withdrawals.
 */
export interface LiveRecord {
  kind: 'account' | 'key' | 'subscription' | 'withdrawal';
  id: number;
}

/** Releases before this one promise credits by a name of their own. */
const kind = z
  .enum(['account', 'key', 'subscription', 'withdrawal', 'credit'])
  .transform((name) => (name === 'credit' ? 'subscription' : name));

/** Describes a promised write in the outbox. */
export const promisedRow = z
  .object({ id: z.string(), kind, target_id: z.number() })
  .transform((row) => ({ rowId: row.id, kind: row.kind, id: row.target_id }));
