import { createHash } from 'node:crypto';

const names = new Map<string, string>();
/** The length of a digest; PostgreSQL takes names of up to 63 characters. */
const DIGEST_CHARS = 20;

/**
 * Marks a statement that runs again and again: each connection prepares it once (`LastingClient`), so that PostgreSQL neither parses nor plans it
 * again. Its name is of its text: where clients share a session, one name never means two statements.
 */
export function prepared(sql: string): string {
  if (!names.has(sql)) {
    const digest = createHash('sha256').update(sql).digest('hex').slice(0, DIGEST_CHARS);
    names.set(sql, `tollgate_${digest}`);
  }
  return sql;
}

/** The name under which connections prepare it; undefined for all other statements. */
export function preparedName(sql: string): string | undefined {
  return names.get(sql);
}
