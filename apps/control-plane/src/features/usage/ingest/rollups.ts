import type { EntityManager } from 'typeorm';
import { BUCKET_COUNT } from '../histogram.ts';
import type { ReadEvent } from './read-event.ts';
import { rollupDeltas, type RollupDelta } from './rollup-delta.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const SUMMED = ['requests', 'errors', 'charge', 'input_tokens', 'cache_read_tokens', 'cache_write_tokens', 'output_tokens'] as const;
const HISTOGRAMS = ['duration_histogram', 'first_token_histogram'] as const;

/** Histograms travel as one flat list of all rows' buckets: PostgreSQL's unnest would flatten a list of lists anyway. */
const upsert = (table: string, period: string, type: string): string => `
  INSERT INTO ${table} AS kept (${period}, user_id, key_id, model_id, upstream_id, ${SUMMED.join(', ')}, ${HISTOGRAMS.join(', ')})
  SELECT r.period, r.user_id, r.key_id, r.model_id, r.upstream_id, ${SUMMED.map((name) => `r.${name}`).join(', ')},
    ($13::bigint[])[(r.n - 1) * ${BUCKET_COUNT} + 1 : r.n * ${BUCKET_COUNT}], ($14::bigint[])[(r.n - 1) * ${BUCKET_COUNT} + 1 : r.n * ${BUCKET_COUNT}]
  FROM unnest($1::${type}[], $2::int[], $3::int[], $4::int[], $5::int[], ${SUMMED.map((_, index) => `$${index + 6}::bigint[]`).join(', ')})
    WITH ORDINALITY AS r(period, user_id, key_id, model_id, upstream_id, ${SUMMED.join(', ')}, n)
  ORDER BY r.n
  ON CONFLICT (${period}, user_id, key_id, model_id, upstream_id) DO UPDATE SET
    ${SUMMED.map((name) => `${name} = kept.${name} + excluded.${name}`).join(', ')},
    ${HISTOGRAMS.map((name) => `${name} = ARRAY(SELECT h.a + h.b FROM unnest(kept.${name}, excluded.${name}) WITH ORDINALITY AS h(a, b, n) ORDER BY h.n)`).join(', ')}`;

const UPSERT_HOURS = upsert('usage_rollups', 'hour', 'timestamptz');
const UPSERT_DAYS = upsert('usage_rollups_daily', 'day', 'date');

/** Adds a batch to the roll-ups, in the transaction that books its events, so that they never differ. */
export async function bookRollups(tx: EntityManager, events: readonly ReadEvent[]): Promise<void> {
  const hours = rollupDeltas(events, HOUR_MS);
  if (hours.length === 0) return;
  await tx.query(UPSERT_HOURS, [hours.map((row) => new Date(row.periodMs).toISOString()), ...valuesOf(hours)]);
  const days = rollupDeltas(events, DAY_MS);
  await tx.query(UPSERT_DAYS, [days.map((row) => new Date(row.periodMs).toISOString().slice(0, 10)), ...valuesOf(days)]);
}

function valuesOf(deltas: readonly RollupDelta[]): number[][] {
  return [
    deltas.map((row) => row.userId),
    deltas.map((row) => row.keyId),
    deltas.map((row) => row.modelId),
    deltas.map((row) => row.upstreamId),
    deltas.map((row) => row.requests),
    deltas.map((row) => row.errors),
    deltas.map((row) => row.charge),
    deltas.map((row) => row.input),
    deltas.map((row) => row.cacheRead),
    deltas.map((row) => row.cacheWrite),
    deltas.map((row) => row.output),
    deltas.flatMap((row) => row.duration),
    deltas.flatMap((row) => row.firstToken),
  ];
}
