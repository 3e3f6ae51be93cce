import type { EntityManager } from 'typeorm';
import { z } from 'zod';

/** Is the id of the credential in the upstream's own row. */
export const OWN = 0;

const deletedCredential = z.object({ upstreamId: z.number(), id: z.number() });
export type DeletedCredential = z.output<typeof deletedCredential>;

/**
 * Reads the credentials whose deletion is on record. The rows of a deleted upstream do not say which it had. An upstream's own always has the same id, so
 * that only deletions after `madeAt` count for it: the later one has another secret.
 */
export async function deletedCredentials(
  tx: EntityManager,
  madeAt: Date,
): Promise<DeletedCredential[]> {
  const rows: unknown[] = await tx.query(
    `SELECT DISTINCT target_id::int AS "upstreamId", id FROM (
       SELECT target_id, at, CASE action WHEN 'upstream.credential_delete' THEN (before ->> 'id')::int ELSE ${OWN} END AS id FROM activity_log
       WHERE target_kind = 'upstream' AND (action = 'upstream.credential_delete'
         OR (action = 'upstream.update' AND (before ->> 'has_api_key')::boolean AND NOT (after ->> 'has_api_key')::boolean))) deleted
     WHERE id <> ${OWN} OR at > $1`,
    [madeAt],
  );
  return rows.map((row) => deletedCredential.parse(row));
}
