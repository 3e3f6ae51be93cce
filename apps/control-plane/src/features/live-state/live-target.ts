import { z } from 'zod';

/**
 * Names a row of PostgreSQL that has a copy in Redis, by its id. `subscription` includes its credits; `withdrawal` is the subscription and then its
 * recent withdrawals.
 */
export interface LiveRecord {
  kind: 'account' | 'key' | 'subscription' | 'withdrawal';
  id: number;
}

/** Describes a promised write in the outbox. */
export const promisedRow = z
  .object({
    id: z.string(),
    kind: z.enum(['account', 'key', 'subscription', 'withdrawal']),
    target_id: z.number(),
  })
  .transform((row) => ({ rowId: row.id, kind: row.kind, id: row.target_id }));
