import type { EntityManager } from 'typeorm';
import { arrayLiteral } from '../../../platform/database/array-literal.ts';
import { prepared } from '../../../platform/database/prepared.ts';
import { SUMMED_COLUMNS } from '../../../platform/database/summed-columns.ts';
import { beforeCommit, send } from '../../../platform/database/transactions.ts';
import { BUCKET_COUNT } from '../histogram.ts';
import type { ReadEvent } from './read-event.ts';
import { inPeriods, rollupDeltas, withoutRequesters, type RollupDelta } from './rollup-delta.ts';

const DAY_MS = 86_400_000;

const KEYS = {
  user_id: (row: RollupDelta) => row.userId,
  key_id: (row: RollupDelta) => row.keyId,
  model_id: (row: RollupDelta) => row.modelId,
  upstream_id: (row: RollupDelta) => row.upstreamId,
};
const HISTOGRAMS = ['duration_histogram', 'first_token_histogram'] as const;

interface Period {
  column: string;
  type: string;
  textOf: (periodMs: number) => string;
}
type Keys = readonly (keyof typeof KEYS)[];

const HOUR: Period = {
  column: 'hour',
  type: 'timestamptz',
  textOf: (periodMs) => new Date(periodMs).toISOString(),
};
const DAY: Period = {
  column: 'day',
  type: 'date',
  textOf: (periodMs) => new Date(periodMs).toISOString().slice(0, 10),
};
const WHO = ['user_id', 'key_id', 'model_id', 'upstream_id'] as const;
const WHAT = ['model_id', 'upstream_id'] as const;

const addToRollups = upsertInto('usage_rollups', WHO);
const addToTotals = upsertInto('usage_totals', WHAT);

/**
 * Adds a batch to the roll-ups, in the transaction that books its events, so that they never differ.
 * Every worker adds to the same few rows of the totals: they come last, so that one waits for another's commit and for nothing else of it.
 */
export function bookRollups(tx: EntityManager, events: readonly ReadEvent[]): void {
  const hours = rollupDeltas(events);
  if (hours.length === 0) return;
  const days = inPeriods(hours, DAY_MS);
  addToRollups(tx, hours, days);
  beforeCommit(tx, async () => addToTotals(tx, withoutRequesters(hours), withoutRequesters(days)));
}

/** One statement for the hours of a roll-up and its days, in this order: PostgreSQL runs a `WITH` that nothing reads last. */
function upsertInto(table: string, keys: Keys) {
  const columns = keys.length + 1 + SUMMED_COLUMNS.length + HISTOGRAMS.length;
  const sql = prepared(
    `WITH days AS (${upsert(`${table}_daily`, { period: DAY, keys, after: columns })})${upsert(table, { period: HOUR, keys, after: 0 })}`,
  );
  return (tx: EntityManager, hours: readonly RollupDelta[], days: readonly RollupDelta[]): void => {
    const parameters = [...parametersOf(HOUR, keys, hours), ...parametersOf(DAY, keys, days)];
    send(
      tx,
      sql,
      parameters.map((cells) => arrayLiteral(cells)),
    );
  };
}

/** Histograms travel as one flat list of all rows' buckets: PostgreSQL's unnest would flatten a list of lists anyway. `after`: so many parameters come before. */
function upsert(
  table: string,
  { period, keys, after }: { period: Period; keys: Keys; after: number },
): string {
  const columns = [period.column, ...keys, ...SUMMED_COLUMNS];
  const types = [period.type, ...keys.map(() => 'int'), ...SUMMED_COLUMNS.map(() => 'bigint')];
  const bucketsOf = (parameter: number): string =>
    `($${parameter}::bigint[])[(r.n - 1) * ${BUCKET_COUNT} + 1 : r.n * ${BUCKET_COUNT}]`;
  return `
    INSERT INTO ${table} AS kept (${columns.join(', ')}, ${HISTOGRAMS.join(', ')})
    SELECT ${columns.map((column) => `r.${column}`).join(', ')}, ${HISTOGRAMS.map((_, index) => bucketsOf(after + columns.length + 1 + index)).join(', ')}
    FROM unnest(${types.map((type, index) => `$${after + index + 1}::${type}[]`).join(', ')}) WITH ORDINALITY AS r(${columns.join(', ')}, n)
    ORDER BY r.n
    ON CONFLICT (${[period.column, ...keys].join(', ')}) DO UPDATE SET
      ${SUMMED_COLUMNS.map((sum) => `${sum} = kept.${sum} + excluded.${sum}`).join(', ')},
      ${HISTOGRAMS.map((column) => `${column} = ARRAY(SELECT h.a + h.b FROM unnest(kept.${column}, excluded.${column}) WITH ORDINALITY AS h(a, b, n) ORDER BY h.n)`).join(', ')}`;
}

function parametersOf(
  period: Period,
  keys: Keys,
  deltas: readonly RollupDelta[],
): (string | number)[][] {
  return [
    deltas.map((row) => period.textOf(row.periodMs)),
    ...keys.map((key) => deltas.map(KEYS[key])),
    ...SUMMED_COLUMNS.map((name) => deltas.map((row) => row.sums[name])),
    deltas.flatMap((row) => row.duration),
    deltas.flatMap((row) => row.firstToken),
  ];
}
