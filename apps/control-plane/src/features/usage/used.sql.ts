import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';
import type { QuerySource } from './query-source.ts';

const usedRow = z.object({
  model_id: z.number(),
  day: z.string().transform(toSafeInteger),
  week: z.string().transform(toSafeInteger),
});
export type Used = z.output<typeof usedRow>;

/** Counts whole hours: the current one and the 23, or 167, before it. */
export async function usedOf(
  source: QuerySource,
  userId: number,
): Promise<ReadonlyMap<number, Used>> {
  const rows = await source.query(
    `SELECT model_id, coalesce(sum(charge) FILTER (WHERE hour > now() - interval '24 hours'), 0)::text AS day, sum(charge)::text AS week
     FROM usage_rollups WHERE user_id = $1 AND hour > now() - interval '7 days' GROUP BY model_id`,
    [userId],
  );
  return new Map(rows.map((row) => usedRow.parse(row)).map((row) => [row.model_id, row]));
}
