import { useMemo } from 'react';
import type { UsageStatistics } from '../../api/usage.ts';
import { Chart } from '../../ui/charts/chart.tsx';
import { formatDuration, formatShort } from '../../ui/format.ts';
import { EmptyState } from '../../ui/states.tsx';
import { useSpeech } from '../../words/words.ts';
import { countsOf, latencyOf, type CountMeasure, type LatencyMeasure } from './course.ts';
import { useGroupName } from './group-name.ts';

export type Measure = CountMeasure | LatencyMeasure;
export const MEASURES: readonly Measure[] = [
  'charge',
  'requests',
  'errors',
  'duration_ms',
  'first_token_ms',
];

export function isLatency(measure: Measure): measure is LatencyMeasure {
  return measure === 'duration_ms' || measure === 'first_token_ms';
}

/** Draws one measure of usage over time. */
export function UsageChart({
  of: statistics,
  measure,
  onZoom,
  onPick,
}: {
  of: UsageStatistics;
  measure: Measure;
  onZoom?: ((from: number, to: number) => void) | undefined;
  onPick?: ((from: number, to: number) => void) | undefined;
}) {
  const { words, locale } = useSpeech();
  const { usage } = words;
  const nameOf = useGroupName(statistics.group_by);
  const { times, series } = useMemo(
    () =>
      isLatency(measure)
        ? latencyOf(statistics, { measure, names: { p50: usage.p50, p95: usage.p95 } })
        : countsOf(statistics, { measure, nameOf, other: usage.other }),
    [statistics, measure, nameOf, usage],
  );
  if (statistics.data.length === 0)
    return <EmptyState title={usage.emptyChart}>{usage.emptyText}</EmptyState>;
  return (
    <Chart
      label={usage.measures[measure]}
      kind={isLatency(measure) ? 'lines' : 'bars'}
      times={times}
      series={series}
      format={(value) =>
        isLatency(measure) ? formatDuration(value, locale) : formatShort(value, locale)
      }
      onZoom={onZoom}
      onPick={onPick}
    />
  );
}
