import type { EntityManager } from 'typeorm';
import { z } from 'zod';

const ceiling = z.number().nullable();
const ceilingsRow = z.object({ rpm: ceiling, rph: ceiling, rpd: ceiling });
const idRow = z.object({ id: z.number() });

/** The ceilings of an account's own; null = the installation's. */
export async function ceilingsOfAccount(
  tx: EntityManager,
  userId: number,
): Promise<z.output<typeof ceilingsRow>> {
  const rows: unknown[] = await tx.query(
    'SELECT rpm_ceiling AS rpm, rph_ceiling AS rph, rpd_ceiling AS rpd FROM users WHERE id = $1',
    [userId],
  );
  return ceilingsRow.parse(rows[0]);
}

/** Accounts for which at least one ceiling of the installation is in force. */
export async function accountsUnderCeilings(tx: EntityManager): Promise<number[]> {
  const rows: unknown[] = await tx.query(
    'SELECT id FROM users WHERE rpm_ceiling IS NULL OR rph_ceiling IS NULL OR rpd_ceiling IS NULL',
  );
  return rows.map((row) => idRow.parse(row).id);
}
