import type { DataSource } from 'typeorm';
import { z } from 'zod';

const countRow = z.object({
  rule: z.string(),
  open: z.coerce.number(),
  recent: z.coerce.number(),
});

/** Alerts of each rule that has any: open ones, and those that are open or closed within the last 15 minutes. */
export async function alertCounts(
  dataSource: Pick<DataSource, 'query'>,
): Promise<z.output<typeof countRow>[]> {
  const rows: unknown[] = await dataSource.query(
    `SELECT rule, count(*) FILTER (WHERE resolved_at IS NULL) AS open, count(*) AS recent FROM alerts
     WHERE resolved_at IS NULL OR resolved_at > now() - interval '15 minutes' GROUP BY rule`,
  );
  return rows.map((row) => countRow.parse(row));
}
