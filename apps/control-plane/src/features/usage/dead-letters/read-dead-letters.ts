import type { DataSource } from 'typeorm';
import { z } from 'zod';
import { waitingRows, type WaitingRows } from '../../../platform/database/waiting-rows.ts';

const countRow = z.object({ count: z.number() });

/** Events that are not booked and wait for a person. */
export async function countDeadLetters(dataSource: DataSource): Promise<number> {
  const [row]: unknown[] = await dataSource.query(
    'SELECT count(*)::int AS count FROM usage_dead_letters WHERE resolved_at IS NULL',
  );
  return countRow.parse(row).count;
}

/** Dead letters that wait for an administrator. */
export const waitingDeadLetters = (dataSource: Pick<DataSource, 'query'>): Promise<WaitingRows> =>
  waitingRows(dataSource, 'usage_dead_letters WHERE resolved_at IS NULL');
