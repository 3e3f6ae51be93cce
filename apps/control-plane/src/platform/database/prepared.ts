const names = new Map<string, string>();

/**
 * Marks a statement that runs again and again: each connection prepares it once (`LastingClient`), so that PostgreSQL neither parses nor plans it
 * again. It names its columns: after a migration, a plan that answers `*` would fail on every connection that is still open.
 */
export function prepared(sql: string): string {
  if (!names.has(sql)) names.set(sql, `tollgate_${names.size + 1}`);
  return sql;
}

/** The name under which connections prepare it; undefined for all other statements. */
export function preparedName(sql: string): string | undefined {
  return names.get(sql);
}
