import { createHash } from 'node:crypto';
import { takesLibraryPath } from '@tollgate/contracts';

const names = new Map<string, string>();
/** Is the length of the digest in characters. PostgreSQL takes names of up to 63 characters. */
const DIGEST_CHARS = 20;

/**
 * Marks a statement that runs often. Each connection prepares it once (`LastingClient`), so that PostgreSQL does not parse and plan it again. Its
 * name is a digest of its text: where clients share a session, one name never means two statements.
 */
export function prepared(sql: string): string {
  if (!names.has(sql)) {
    const digest = createHash('sha256').update(sql).digest('hex').slice(0, DIGEST_CHARS);
    names.set(sql, `tollgate_${digest}`);
  }
  return sql;
}

/** Returns the name under which connections prepare a statement; undefined for a statement that is not marked. */
export function preparedName(sql: string): string | undefined {
  return takesLibraryPath('prepared_statements') ? undefined : names.get(sql);
}
