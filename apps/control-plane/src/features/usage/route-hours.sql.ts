import type { DataSource } from 'typeorm';
import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';
import { parseHistogram } from './histogram.ts';

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
  SELECT model_id, upstream_id, requests, errors, array_to_string(duration_histogram, ',') AS duration,
    array_to_string(first_token_histogram, ',') AS first_token
  FROM usage_totals WHERE hour > now() - interval '24 hours' AND upstream_id > 0 AND requests > 0 ORDER BY model_id, upstream_id, hour`;

/** The traffic of each model at each upstream, by hour. */
export async function lastDayOfRoutes(source: Pick<DataSource, 'query'>): Promise<RouteHour[]> {
  const rows: unknown[] = await source.query(LAST_DAY);
  return rows.map((row) => hourRow.parse(row));
}
