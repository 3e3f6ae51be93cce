import type { EntityManager } from 'typeorm';

/** Whether this account was deleted. */
export async function isDeleted(tx: EntityManager, userId: number): Promise<boolean> {
  const deleted: unknown[] = await tx.query(
    'SELECT 1 FROM users WHERE id = $1 AND deleted_at IS NOT NULL',
    [userId],
  );
  return deleted.length > 0;
}
