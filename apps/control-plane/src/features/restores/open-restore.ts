/** A data source, a query runner or an entity manager. */
export interface Queryable {
  query: (text: string, values?: unknown[]) => Promise<unknown[]>;
}

/** Whether these books come from a backup whose loss was not read yet. */
export async function hasOpenRestore(source: Queryable): Promise<boolean> {
  const rows = await source.query('SELECT 1 FROM restores WHERE closed_at IS NULL LIMIT 1');
  return rows.length > 0;
}
