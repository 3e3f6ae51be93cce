import type { DataSource } from 'typeorm';
import { z } from 'zod';

const countRow = z.object({ count: z.number() });

/** Events that are not booked and wait for a person. */
export async function countDeadLetters(dataSource: DataSource): Promise<number> {
  const [row]: unknown[] = await dataSource.query(
    'SELECT count(*)::int AS count FROM usage_dead_letters WHERE resolved_at IS NULL',
  );
  return countRow.parse(row).count;
}
