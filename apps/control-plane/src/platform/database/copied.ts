import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

const statements = new Set<string>();

/** Marks a `COPY ... FROM STDIN`: its one parameter is the text to be copied (`LastingClient`). */
export function copied(sql: string): string {
  statements.add(sql);
  return sql;
}

export function isCopied(sql: string): boolean {
  return statements.has(sql);
}

/** Resolves once PostgreSQL has all rows. `query` is the driver's own. */
export function copyIn(
  query: pg.Client['query'],
  sql: string,
  text: string,
): Promise<{ rows: never[]; rowCount: number }> {
  return new Promise((resolve, reject) => {
    const stream = query(copyFrom(sql));
    // Not once: where the first comes while rows wait to be sent, the library reports another.
    stream.on('error', reject);
    stream.once('finish', () => resolve({ rows: [], rowCount: stream.rowCount }));
    stream.end(Buffer.from(text));
  });
}
