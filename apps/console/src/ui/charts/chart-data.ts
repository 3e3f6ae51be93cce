import type { SeriesColor } from './series.ts';

export interface ChartSeries {
  name: string;
  color: SeriesColor;
  values: readonly (number | null)[];
}

export interface ChartProps {
  label: string;
  /** Is stacked bars for counts, lines for latency. */
  kind: 'bars' | 'lines';
  /** Holds the beginning of each interval in Unix ms, ascending. */
  times: readonly number[];
  series: readonly ChartSeries[];
  /** Returns what a value reads like, on the axis and where one points. */
  format: (value: number) => string;
  /** The reader has marked a part of it. */
  onZoom?: ((from: number, to: number) => void) | undefined;
  /** The reader has chosen one interval. */
  onPick?: ((from: number, to: number) => void) | undefined;
}

const INTERVAL_FALLBACK_MS = 3_600_000;

/** Returns the end of the interval that begins at `times[index]`. */
export function endOf(times: readonly number[], index: number): number {
  const [first, second] = times;
  const step = first !== undefined && second !== undefined ? second - first : INTERVAL_FALLBACK_MS;
  return (times[index] ?? 0) + step;
}
