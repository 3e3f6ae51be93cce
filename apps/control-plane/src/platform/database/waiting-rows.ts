import { z } from 'zod';

/** Holds the number of waiting rows and the age of the oldest one in seconds. */
export interface WaitingRows {
  count: number;
  age: number;
}

const waitingRow = z.object({ count: z.coerce.number(), age: z.coerce.number() });

/** Counts waiting rows. `selection` names the table and its condition, for example `outbox WHERE sent_at IS NULL`. */
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
