import { OWN_CREDENTIAL } from '@tollgate/contracts';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';

/** A version may be compiled while a deletion is being committed, and the clocks of control planes and PostgreSQL differ by less. */
const OVERLAP = '1 minute';

const deletedCredential = z.object({ upstreamId: z.number(), id: z.number() });
export type DeletedCredential = z.output<typeof deletedCredential>;

/**
 * Reads the credentials whose deletion is on record. The rows of a deleted upstream do not say which it had. An upstream's own always has the same id, so
 * that only deletions after `madeAt`, less `OVERLAP`, count for it: the later one has another secret.
 */
export async function deletedCredentials(
  tx: EntityManager,
  madeAt: Date,
): Promise<DeletedCredential[]> {
  const rows: unknown[] = await tx.query(
    `SELECT DISTINCT target_id::int AS "upstreamId", id FROM (
       SELECT target_id, at, CASE action WHEN 'upstream.credential_delete' THEN (before ->> 'id')::int ELSE ${OWN_CREDENTIAL} END AS id FROM activity_log
       WHERE target_kind = 'upstream' AND (action = 'upstream.credential_delete'
         OR (action = 'upstream.update' AND (before ->> 'has_api_key')::boolean AND NOT (after ->> 'has_api_key')::boolean))) deleted
     WHERE id <> ${OWN_CREDENTIAL} OR at > $1::timestamptz - interval '${OVERLAP}'`,
    [madeAt],
  );
  return rows.map((row) => deletedCredential.parse(row));
}
