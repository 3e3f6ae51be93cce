import type { EntityManager } from 'typeorm';

/** Locks the row of an account until the end of the transaction. False when the account is not active. */
export async function lockActiveAccount(tx: EntityManager, userId: number): Promise<boolean> {
  const owners: unknown[] = await tx.query(
    "SELECT 1 FROM users WHERE id = $1 AND status = 'active' FOR UPDATE",
    [userId],
  );
  return owners.length > 0;
}
