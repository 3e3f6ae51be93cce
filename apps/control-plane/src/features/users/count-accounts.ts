import type { DataSource } from 'typeorm';
import { z } from 'zod';

const countRow = z.object({
  status: z.enum(['pending', 'active', 'rejected', 'frozen']),
  count: z.coerce.number(),
});

/** Accounts by status, without deleted ones. */
export async function countAccounts(dataSource: Pick<DataSource, 'query'>) {
  const raw: unknown[] = await dataSource.query(
    'SELECT status, count(*)::bigint AS count FROM users WHERE deleted_at IS NULL GROUP BY status',
  );
  const rows = raw.map((row) => countRow.parse(row));
  const counts = {
    pending: 0,
    active: 0,
    rejected: 0,
    frozen: 0,
    ...Object.fromEntries(rows.map((row) => [row.status, row.count])),
  };
  return { total: rows.reduce((sum, row) => sum + row.count, 0), ...counts };
}
