import { micros } from '@tollgate/money';
import type { DataSource, EntityManager } from 'typeorm';
import { z } from 'zod';

/** One attempt takes far less, so no other replica sends the payout meanwhile. This is also the first pause after a failure. */
const LEASE = '2 minutes';
const PAUSE_DOUBLINGS_MAX = 5;

const claimedRow = z
  .object({
    id: z.number(),
    user_id: z.number(),
    amount: z.coerce.bigint(),
    currency: z.string(),
    attempts: z.number(),
    payment_reference: z.string(),
  })
  .transform((row) => ({
    id: row.id,
    userId: row.user_id,
    amount: micros(row.amount),
    currency: row.currency,
    attempts: row.attempts,
    paymentReference: row.payment_reference,
  }));
export type ClaimedPayout = z.output<typeof claimedRow>;

/** Claims the oldest payout of a provider that is due; returns undefined when none is. */
export async function claimPayout(
  dataSource: DataSource,
  provider: string,
): Promise<ClaimedPayout | undefined> {
  // TypeORM returns the rows of an UPDATE and their number.
  const [rows]: [unknown[], number] = await dataSource.query(
    `UPDATE payouts o SET attempts = o.attempts + 1, retry_at = now() + interval '${LEASE}' * power(2, least(o.attempts, ${PAUSE_DOUBLINGS_MAX}))
     FROM payments p WHERE p.id = o.payment_id AND o.id = (
       SELECT id FROM payouts WHERE status = 'pending' AND retry_at <= now() AND provider = $1 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
     RETURNING o.id, o.user_id, o.amount::text AS amount, o.currency, o.attempts, p.provider_reference AS payment_reference`,
    [provider],
  );
  return rows[0] === undefined ? undefined : claimedRow.parse(rows[0]);
}

/** Stores for people that the provider does not answer. */
export async function noteSilence(tx: EntityManager, id: number): Promise<void> {
  await tx.query(
    "UPDATE payouts SET failure = 'the payment provider does not answer' WHERE id = $1 AND status = 'pending'",
    [id],
  );
}
