import { STEP_MS } from '../../api/range-bounds.ts';
import { CHARGED_CLASSES, type TokenField } from '../../api/tables.ts';
import type { Group, StatisticsRow, UsageStatistics } from '../../api/usage.ts';
import type { ChartSeries } from '../../ui/charts/chart-data.ts';
import { colorOf } from '../../ui/charts/series.ts';

export type CountMeasure = 'charge' | 'requests' | 'errors';
export type LatencyMeasure = 'duration_ms' | 'first_token_ms';

/** Is the number of series that have distinct colours; the rest is one grey. */
const SERIES_MAX = 7;

type Counted = CountMeasure | TokenField;

export interface GroupTotals extends Record<Counted, number> {
  id: number | null;
  name: string | null;
}

export interface Course {
  times: number[];
  series: ChartSeries[];
}

/** Returns the beginnings of all intervals: those without requests are in no answer, but on the axis. */
export function timesOf({ from, to, interval }: UsageStatistics): number[] {
  const step = STEP_MS[interval];
  const [start, end] = [Date.parse(from), Date.parse(to)];
  return Array.from(
    { length: Math.max(0, Math.round((end - start) / step)) },
    (_, index) => start + index * step,
  );
}

/** Returns the group of a row. */
function groupOf(
  row: StatisticsRow,
  group: Group | null,
): { id: number | null; name: string | null } {
  switch (group) {
    case 'model':
      return { id: row.model_id ?? null, name: row.model ?? null };
    case 'key':
      return { id: row.key_id ?? null, name: row.key ?? null };
    case 'user':
      return { id: row.user_id ?? null, name: row.user ?? null };
    case 'upstream':
      return { id: row.upstream_id ?? null, name: row.upstream ?? null };
    case null:
      return { id: null, name: null };
  }
}

/** Returns one sum a group over the whole time, largest charge first. */
export function totalsOf({ data, group_by: group }: UsageStatistics): GroupTotals[] {
  const totals = new Map<number | null, GroupTotals>();
  for (const row of data) {
    const { id, name } = groupOf(row, group);
    const sum = totals.get(id) ?? emptyTotals(id, name);
    for (const measure of MEASURES) sum[measure] += row[measure];
    totals.set(id, sum);
  }
  return [...totals.values()].sort((a, b) => b.charge - a.charge || b.requests - a.requests);
}

const MEASURES: readonly Counted[] = [
  'requests',
  'errors',
  'charge',
  ...CHARGED_CLASSES.map(({ field }) => field),
];

function emptyTotals(id: number | null, name: string | null): GroupTotals {
  const zeros = Object.fromEntries(MEASURES.map((measure) => [measure, 0]));
  return { id, name, ...(zeros as Record<Counted, number>) };
}

export function sumOf(totals: readonly GroupTotals[]): GroupTotals {
  const sum = emptyTotals(null, null);
  for (const part of totals) for (const measure of MEASURES) sum[measure] += part[measure];
  return sum;
}

/** Returns the counts over time, with one series for each group and one for the small groups together. */
export function countsOf(
  statistics: UsageStatistics,
  {
    measure,
    nameOf,
    other,
  }: {
    measure: CountMeasure;
    nameOf: (group: GroupTotals) => string;
    other: string;
  },
): Course {
  const times = timesOf(statistics);
  const groups = totalsOf(statistics);
  const shown = groups.slice(0, groups.length > SERIES_MAX + 1 ? SERIES_MAX : SERIES_MAX + 1);
  const place = new Map(shown.map(({ id }, index) => [id, index] as const));
  const rows = Array.from({ length: shown.length + 1 }, () => times.map(() => 0));
  const index = new Map(times.map((at, position) => [at, position] as const));
  for (const row of statistics.data) {
    const at = index.get(Date.parse(row.at));
    const values = rows[place.get(groupOf(row, statistics.group_by).id) ?? shown.length];
    if (at !== undefined && values) values[at] = (values[at] ?? 0) + row[measure];
  }
  const series = shown.map((group, position) => ({
    name: nameOf(group),
    color: statistics.group_by === null ? 0 : colorOf(group.id),
    values: rows[position] ?? [],
  }));
  const rest = rows[shown.length] ?? [];
  return {
    times,
    series: rest.some((value) => value > 0)
      ? [...series, { name: other, color: 'other', values: rest }]
      : series,
  };
}

/** Returns latency over time; an interval without requests is a gap, not a zero. It needs statistics that are not grouped. */
export function latencyOf(
  statistics: UsageStatistics,
  { measure, names }: { measure: LatencyMeasure; names: { p50: string; p95: string } },
): Course {
  const times = timesOf(statistics);
  const rows = new Map(statistics.data.map((row) => [Date.parse(row.at), row[measure]] as const));
  return {
    times,
    series: [
      { name: names.p50, color: 0, values: times.map((at) => rows.get(at)?.p50 ?? null) },
      { name: names.p95, color: 1, values: times.map((at) => rows.get(at)?.p95 ?? null) },
    ],
  };
}
