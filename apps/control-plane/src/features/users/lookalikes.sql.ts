import type { EntityManager } from 'typeorm';
import { ADVISORY_LOCK_FAMILIES } from '../../platform/database/advisory-locks.ts';
import { Refusal } from '../../platform/http/refusal.ts';

/**
 * Refuses a name that looks like an existing one. Accounts with look-alike names are created one at a time. An account keeps a name that it had
 * before another one looked like it.
 */
export async function refuseLookalike(
  tx: EntityManager,
  skeletons: readonly string[],
): Promise<void> {
  await tx.query(
    'SELECT pg_advisory_xact_lock($1, hash) FROM (SELECT DISTINCT hashtext(s) AS hash FROM unnest($2::text[]) s ORDER BY 1) hashes',
    [ADVISORY_LOCK_FAMILIES.lookalikes, skeletons],
  );
  const known: unknown[] = await tx.query(
    'SELECT 1 FROM users WHERE skeletons && $1::text[] AND deleted_at IS NULL LIMIT 1',
    [skeletons],
  );
  if (known.length > 0)
    throw new Refusal('username_taken', {
      detail: 'Another account has this name, or one that looks like it',
    });
}
