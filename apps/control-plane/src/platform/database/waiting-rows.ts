import { z } from 'zod';

/** The number of rows that wait, and the seconds for which the oldest one has. */
export interface WaitingRows {
  count: number;
  age: number;
}

const waitingRow = z.object({ count: z.coerce.number(), age: z.coerce.number() });

/** `selection`: the table and its condition, e.g. `outbox WHERE sent_at IS NULL`. */
export async function waitingRows(
  dataSource: { query: (sql: string) => Promise<unknown[]> },
  selection: string,
): Promise<WaitingRows> {
  const rows: unknown[] = await dataSource.query(
    `SELECT count(*), coalesce(extract(epoch FROM now() - min(created_at)), 0) AS age FROM ${selection}`,
  );
  const [row] = rows.map((raw) => waitingRow.parse(raw));
  return row ?? { count: 0, age: 0 };
}
