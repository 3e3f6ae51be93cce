import { isChargedToken, USAGE_ROWS } from '@tollgate/contracts';
import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';
import { bucketsText, parseHistogram, percentiles, sumHistograms } from './histogram.ts';
import type { QuerySource } from './query-source.ts';

const HOURS = 24;
const NEWEST = 100;
const P95 = [0.95];
const NO_TRAFFIC = { requests: 0, errors: 0, charge: 0, input_tokens: 0, output_tokens: 0 };
const TOP_MODELS = 10;

const integer = z.union([z.string(), z.number()]).transform(toSafeInteger);
const counts = { requests: integer, errors: integer, charge: integer };
const trafficRow = z.object({ ...counts, input_tokens: integer, output_tokens: integer });
const hourRow = z.object({ hour: z.date(), ...counts });
const modelRow = z.object({ model_id: z.number(), ...counts });
const latencyRow = z.object({
  duration: z.string().transform(parseHistogram),
  first_token: z.string().transform(parseHistogram),
});
const lagRow = z.object({ lag_ms: z.number().nullable() });

const SUM =
  'coalesce(sum(requests), 0)::bigint AS requests, coalesce(sum(errors), 0)::bigint AS errors, coalesce(sum(charge), 0)::bigint AS charge';
/** Sums all charged classes of the prompt or the output. */
function sumOfSide(side: 'prompt' | 'output'): string {
  const fields = USAGE_ROWS.filter((row) => isChargedToken(row) && row.side === side);
  return `coalesce(sum(${fields.map(({ field }) => field).join(' + ')}), 0)::bigint`;
}
/** Totals are updated in the transaction of each debit, so these few rows represent all requests. */
const TODAY = `SELECT ${SUM}, ${sumOfSide('prompt')} AS input_tokens, ${sumOfSide('output')} AS output_tokens
  FROM usage_totals WHERE hour >= date_trunc('day', now())`;
const BY_HOUR = `SELECT slot AS hour, ${SUM} FROM generate_series(date_trunc('hour', now()) - interval '${HOURS - 1} hours', date_trunc('hour', now()), '1 hour') slot
  LEFT JOIN (SELECT * FROM usage_totals WHERE hour > date_trunc('hour', now()) - interval '${HOURS} hours') recent ON recent.hour = slot GROUP BY slot ORDER BY slot`;
const BY_MODEL = `SELECT model_id, ${SUM} FROM usage_totals
  WHERE hour > date_trunc('hour', now()) - interval '${HOURS} hours' GROUP BY model_id ORDER BY sum(charge) DESC, sum(requests) DESC, model_id LIMIT ${TOP_MODELS}`;

const TODAY_LATENCY = `SELECT ${bucketsText((bucket) => `duration_histogram[${bucket}]`)} AS duration, ${bucketsText((bucket) => `first_token_histogram[${bucket}]`)} AS first_token
  FROM usage_totals WHERE hour >= date_trunc('day', now()) AND requests > 0`;
/** A request id begins with the time of its request, so the newest requests are the last of the primary key. */
const BOOKING_LAG = `SELECT round(1000 * percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM created_at - started_at) - duration_ms / 1000.0))::int AS lag_ms
  FROM (SELECT created_at, started_at, duration_ms FROM usage_events WHERE day >= (now() AT TIME ZONE 'UTC')::date - 1 AND kind = 'usage' AND duration_ms IS NOT NULL
    ORDER BY day DESC, rid DESC LIMIT ${NEWEST}) newest`;

/** Returns the requests of today and of the last 24 hours, of all accounts, and the time that booking takes. */
export async function readTraffic(source: QuerySource) {
  const rows = async <T extends z.ZodType>(sql: string, schema: T): Promise<z.output<T>[]> => {
    const raw = await source.query(sql);
    return raw.map((row) => schema.parse(row));
  };
  const [today, latencies, lag, hours, topModels] = await Promise.all([
    rows(TODAY, trafficRow),
    rows(TODAY_LATENCY, latencyRow),
    rows(BOOKING_LAG, lagRow),
    rows(BY_HOUR, hourRow),
    rows(BY_MODEL, modelRow),
  ]);
  return {
    today: { ...(today[0] ?? NO_TRAFFIC), ...p95Of(latencies) },
    // A node's clock that is ahead of the database's gives 0, never a negative time.
    booking_lag_ms: lag[0]?.lag_ms == null ? null : Math.max(0, lag[0].lag_ms),
    hours: hours.map(({ hour, ...sums }) => ({ hour: hour.toISOString(), ...sums })),
    topModels,
  };
}

function p95Of(latencies: readonly z.output<typeof latencyRow>[]) {
  const p95 = (name: 'duration' | 'first_token'): number | null =>
    percentiles(sumHistograms(latencies.map((row) => row[name])), P95)[0] ?? null;
  return { duration_p95_ms: p95('duration'), first_token_p95_ms: p95('first_token') };
}
