import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

const statements = new Set<string>();

/** Marks a `COPY ... FROM STDIN`. Its one parameter is the text to copy (`LastingClient`). */
export function copied(sql: string): string {
  statements.add(sql);
  return sql;
}

export function isCopied(sql: string): boolean {
  return statements.has(sql);
}

/** Resolves when PostgreSQL has all rows. `query` belongs to the driver. */
export function copyIn(
  query: pg.Client['query'],
  sql: string,
  text: string,
): Promise<{ rows: never[]; rowCount: number }> {
  return new Promise((resolve, reject) => {
    const stream = query(copyFrom(sql));
    // The listener stays after the first error: while rows wait to be sent, the library reports another one.
    stream.on('error', reject);
    stream.once('finish', () => resolve({ rows: [], rowCount: stream.rowCount }));
    stream.end(Buffer.from(text));
  });
}
