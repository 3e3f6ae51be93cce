import { CHARGED_TOKEN_FIELDS } from '@tollgate/contracts';
import type { EntityManager } from 'typeorm';
import { arrayLiteral, type ArrayCell } from '../../../platform/database/array-literal.ts';
import { prepared } from '../../../platform/database/prepared.ts';
import { SUMMED_COLUMNS, type SummedColumn } from '../../../platform/database/summed-columns.ts';
import { beforeCommit, send } from '../../../platform/database/transactions.ts';
import {
  USAGE_PERIOD_NAMES,
  USAGE_PERIODS,
  type UsagePeriod,
  type UsagePeriodName,
} from '../../../platform/database/usage-periods.ts';
import { histogramLiteral } from '../histogram.ts';
import type { ReadEvent } from './read-event.ts';
import { inPeriods, rollupDeltas, withoutRequesters, type RollupDelta } from './rollup-delta.ts';

/** Is the length of the date in the text of a time. */
const DATE_CHARS = 10;

const KEYS = {
  user_id: (row: RollupDelta) => row.userId,
  key_id: (row: RollupDelta) => row.keyId,
  model_id: (row: RollupDelta) => row.modelId,
  upstream_id: (row: RollupDelta) => row.upstreamId,
};
type Keys = readonly (keyof typeof KEYS)[];

const HISTOGRAMS = {
  duration_histogram: (row: RollupDelta) => histogramLiteral(row.duration),
  first_token_histogram: (row: RollupDelta) => histogramLiteral(row.firstToken),
};
const HISTOGRAM_NAMES = ['duration_histogram', 'first_token_histogram'] as const;
/** Names the sums that are null where there is nothing to sum. */
const SPARSE: ReadonlySet<SummedColumn> = new Set(CHARGED_TOKEN_FIELDS);

const WHO = ['user_id', 'key_id', 'model_id', 'upstream_id'] as const;
const WHAT = ['model_id', 'upstream_id'] as const;

const addToRollups = upsertInto('rollups', WHO);
const addToTotals = upsertInto('totals', WHAT);

type Deltas = Record<UsagePeriodName, readonly RollupDelta[]>;

/**
 * Adds a batch to the roll-ups in the transaction that books its events, so that they never differ. Every worker adds to the same few rows of the
 * totals; these come last, so that a worker waits only for another's commit.
 */
export function bookRollups(tx: EntityManager, events: readonly ReadEvent[]): void {
  const minute = rollupDeltas(events);
  if (minute.length === 0) return;
  const hour = inPeriods(minute, USAGE_PERIODS.hour.lengthMs);
  const day = inPeriods(hour, USAGE_PERIODS.day.lengthMs);
  addToRollups(tx, { minute, hour, day });
  beforeCommit(tx, async () =>
    addToTotals(tx, {
      minute: withoutRequesters(minute),
      hour: withoutRequesters(hour),
      day: withoutRequesters(day),
    }),
  );
}

/** Builds one statement for all periods in a fixed order: PostgreSQL runs a `WITH` that nothing reads last. */
function upsertInto(table: 'rollups' | 'totals', keys: Keys) {
  const columns = 1 + keys.length + SUMMED_COLUMNS.length + HISTOGRAM_NAMES.length;
  const [minutes, hours, days] = USAGE_PERIOD_NAMES.map((name, index) =>
    upsert(USAGE_PERIODS[name], { table, keys, after: index * columns }),
  );
  const sql = prepared(`WITH minutes AS (${minutes}), days AS (${days})${hours}`);
  return (tx: EntityManager, deltas: Deltas): void => {
    const parameters = USAGE_PERIOD_NAMES.flatMap((name) =>
      parametersOf(USAGE_PERIODS[name], keys, deltas[name]),
    );
    send(
      tx,
      sql,
      parameters.map((cells) => arrayLiteral(cells)),
    );
  };
}

/** `after` is the number of parameters before these. */
function upsert(
  { column, type, ...tables }: UsagePeriod,
  { table, keys, after }: { table: 'rollups' | 'totals'; keys: Keys; after: number },
): string {
  const columns = [column, ...keys, ...SUMMED_COLUMNS, ...HISTOGRAM_NAMES];
  const types = [
    type,
    ...keys.map(() => 'int'),
    ...SUMMED_COLUMNS.map(() => 'bigint'),
    ...HISTOGRAM_NAMES.map(() => 'text'),
  ];
  const read = columns.map((name) => `r.${name}${name.endsWith('_histogram') ? '::bigint[]' : ''}`);
  return `
    INSERT INTO ${tables[table]} AS kept (${columns.join(', ')})
    SELECT ${read.join(', ')}
    FROM unnest(${types.map((each, index) => `$${after + index + 1}::${each}[]`).join(', ')}) WITH ORDINALITY AS r(${columns.join(', ')}, n)
    ORDER BY r.n
    ON CONFLICT (${[column, ...keys].join(', ')}) DO UPDATE SET
      ${SUMMED_COLUMNS.map((sum) => `${sum} = ${added(sum)}`).join(', ')},
      ${HISTOGRAM_NAMES.map((name) => `${name} = ${addedHistogram(name)}`).join(', ')}`;
}

function added(sum: SummedColumn): string {
  return SPARSE.has(sum)
    ? `nullif(coalesce(kept.${sum}, 0) + coalesce(excluded.${sum}, 0), 0)`
    : `kept.${sum} + excluded.${sum}`;
}

/** Adds two histograms bucket by bucket, from the first bucket that either counts to the last. */
function addedHistogram(name: string): string {
  const bounds = (edge: 'lower' | 'upper'): string =>
    ['kept', 'excluded'].map((row) => `array_${edge}(${row}.${name}, 1)`).join(', ');
  return `(
        SELECT coalesce('[' || min(b) || ':' || max(b) || ']={' || string_agg((coalesce(kept.${name}[b], 0) + coalesce(excluded.${name}[b], 0))::text, ',' ORDER BY b) || '}', '{}')::bigint[]
        FROM generate_series(least(${bounds('lower')}), greatest(${bounds('upper')})) b)`;
}

function parametersOf(
  { column }: UsagePeriod,
  keys: Keys,
  deltas: readonly RollupDelta[],
): ArrayCell[][] {
  const chars = column === 'day' ? DATE_CHARS : undefined;
  return [
    deltas.map((row) => new Date(row.periodMs).toISOString().slice(0, chars)),
    ...keys.map((key) => deltas.map(KEYS[key])),
    ...SUMMED_COLUMNS.map((name) =>
      deltas.map(({ sums }) => (SPARSE.has(name) && sums[name] === 0 ? null : sums[name])),
    ),
    ...HISTOGRAM_NAMES.map((name) => deltas.map(HISTOGRAMS[name])),
  ];
}
