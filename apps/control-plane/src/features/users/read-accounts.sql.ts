import { LIMIT_NAMES, type KeyLimits, type Rate } from '@tollgate/contracts';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { storedLimits } from '../../platform/database/columns.ts';
import { storedRates } from '../../platform/openapi/rate-field.ts';

type Tx = Pick<EntityManager, 'query'>;

const ceilingsRow = z.object({ ceilings: storedLimits });
const ratesRow = z.object({ rates: storedRates });
const idRow = z.object({ id: z.number() });
const countRow = z.object({
  status: z.enum(['pending', 'active', 'rejected', 'frozen']),
  count: z.coerce.number(),
});

export async function isDeleted(tx: Tx, userId: number): Promise<boolean> {
  const deleted: unknown[] = await tx.query(
    'SELECT 1 FROM users WHERE id = $1 AND deleted_at IS NOT NULL',
    [userId],
  );
  return deleted.length > 0;
}

/** Locks the row of an account until the transaction ends. Returns false when the account is not active. */
export async function lockActiveAccount(tx: EntityManager, userId: number): Promise<boolean> {
  const owners: unknown[] = await tx.query(
    "SELECT 1 FROM users WHERE id = $1 AND status = 'active' FOR UPDATE",
    [userId],
  );
  return owners.length > 0;
}

/** Returns the account's own ceilings; an absent one is the installation's. */
export async function ceilingsOfAccount(tx: Tx, userId: number): Promise<Partial<KeyLimits>> {
  const rows: unknown[] = await tx.query('SELECT ceilings FROM users WHERE id = $1', [userId]);
  return ceilingsRow.parse(rows[0]).ceilings;
}

export async function ratesOfAccount(tx: Tx, userId: number): Promise<Rate[]> {
  const rows: unknown[] = await tx.query('SELECT rates FROM users WHERE id = $1', [userId]);
  return ratesRow.parse(rows[0]).rates;
}

/** Returns the accounts to which at least one ceiling of the installation applies. */
export async function accountsUnderCeilings(tx: Tx): Promise<number[]> {
  const rows: unknown[] = await tx.query('SELECT id FROM users WHERE NOT ceilings ?& $1::text[]', [
    LIMIT_NAMES,
  ]);
  return rows.map((row) => idRow.parse(row).id);
}

/** Counts accounts by status, without deleted ones. */
export async function countAccounts(tx: Tx) {
  const raw: unknown[] = await tx.query(
    'SELECT status, count(*)::bigint AS count FROM users WHERE deleted_at IS NULL GROUP BY status',
  );
  const rows = raw.map((row) => countRow.parse(row));
  const counts = {
    pending: 0,
    active: 0,
    rejected: 0,
    frozen: 0,
    ...Object.fromEntries(rows.map((row) => [row.status, row.count])),
  };
  return { total: rows.reduce((sum, row) => sum + row.count, 0), ...counts };
}
