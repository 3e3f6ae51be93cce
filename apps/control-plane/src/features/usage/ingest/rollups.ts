import type { EntityManager } from 'typeorm';
import { BUCKET_COUNT } from '../histogram.ts';
import type { RollupDelta } from './rollup-delta.ts';

const SUMMED = ['requests', 'errors', 'charge', 'input_tokens', 'cache_read_tokens', 'cache_write_tokens', 'output_tokens'] as const;
const HISTOGRAMS = ['duration_histogram', 'first_token_histogram'] as const;

/** Histograms travel as one flat list of all rows' buckets: PostgreSQL's unnest would flatten a list of lists anyway. */
const UPSERT = `
  INSERT INTO usage_rollups AS kept (hour, user_id, key_id, model_id, upstream_id, ${SUMMED.join(', ')}, ${HISTOGRAMS.join(', ')})
  SELECT r.hour, r.user_id, r.key_id, r.model_id, r.upstream_id, ${SUMMED.map((name) => `r.${name}`).join(', ')},
    ($13::bigint[])[(r.n - 1) * ${BUCKET_COUNT} + 1 : r.n * ${BUCKET_COUNT}], ($14::bigint[])[(r.n - 1) * ${BUCKET_COUNT} + 1 : r.n * ${BUCKET_COUNT}]
  FROM unnest($1::timestamptz[], $2::int[], $3::int[], $4::int[], $5::int[], ${SUMMED.map((_, index) => `$${index + 6}::bigint[]`).join(', ')})
    WITH ORDINALITY AS r(hour, user_id, key_id, model_id, upstream_id, ${SUMMED.join(', ')}, n)
  ORDER BY r.n
  ON CONFLICT (hour, user_id, key_id, model_id, upstream_id) DO UPDATE SET
    ${SUMMED.map((name) => `${name} = kept.${name} + excluded.${name}`).join(', ')},
    ${HISTOGRAMS.map((name) => `${name} = ARRAY(SELECT h.a + h.b FROM unnest(kept.${name}, excluded.${name}) WITH ORDINALITY AS h(a, b, n) ORDER BY h.n)`).join(', ')}`;

/** Adds a batch to the roll-ups, in the transaction that books its events, so that the two never differ. */
export async function bookRollups(tx: EntityManager, deltas: readonly RollupDelta[]): Promise<void> {
  if (deltas.length === 0) return;
  await tx.query(UPSERT, [
    deltas.map((row) => new Date(row.hourMs).toISOString()),
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
  ]);
}
