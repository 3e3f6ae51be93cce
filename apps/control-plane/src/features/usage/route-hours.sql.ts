import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';
import { bucketsText, parseHistogram } from './histogram.ts';
import type { QuerySource } from './query-source.ts';

const histogram = z.string().transform(parseHistogram);
const hourRow = z.object({
  model_id: z.number(),
  upstream_id: z.number(),
  requests: z.string().transform(toSafeInteger),
  errors: z.string().transform(toSafeInteger),
  duration: histogram,
  first_token: histogram,
});
export type RouteHour = z.output<typeof hourRow>;

/** Upstream 0 stands for requests that reached none. */
const LAST_DAY = `
  SELECT model_id, upstream_id, requests, errors, ${bucketsText((bucket) => `duration_histogram[${bucket}]`)} AS duration,
    ${bucketsText((bucket) => `first_token_histogram[${bucket}]`)} AS first_token
  FROM usage_totals WHERE hour > now() - interval '24 hours' AND upstream_id > 0 AND requests > 0 ORDER BY model_id, upstream_id, hour`;

/** Returns the traffic of each model at each upstream, by hour. */
export async function lastDayOfRoutes(source: QuerySource): Promise<RouteHour[]> {
  const rows = await source.query(LAST_DAY);
  return rows.map((row) => hourRow.parse(row));
}
