import { z } from 'zod';

const sinceRow = z.object({ since: z.string().nullable() });

/** Fits a data source, a query runner or an entity manager. */
export interface Queryable {
  query: (text: string, values?: unknown[]) => Promise<unknown[]>;
}

/** Returns whether these books come from a backup whose lost usage was not read yet. */
export async function hasOpenRestore(source: Queryable): Promise<boolean> {
  const rows = await source.query('SELECT 1 FROM restores WHERE closed_at IS NULL LIMIT 1');
  return rows.length > 0;
}

/** Returns the time at which these books were restored, as PostgreSQL writes it; null while no restore is open. */
export async function openRestoreSince(source: Queryable): Promise<string | null> {
  const rows = await source.query(
    'SELECT max(restored_at)::text AS since FROM restores WHERE closed_at IS NULL',
  );
  return rows.map((row) => sinceRow.parse(row).since)[0] ?? null;
}
