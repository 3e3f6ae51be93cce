import { lazy, memo, Suspense, useDeferredValue, useState } from 'react';
import { useSpeech } from '../../words/words.ts';
import type { ChartProps } from './chart-data.ts';
import { formatExact } from '../time/time.tsx';
import { fillOf } from './series.ts';
import { useZone } from '../time/zone.tsx';

/** The drawing library arrives after the page: figures and lists do not wait for it. */
const ChartCanvas = lazy(async () => ({
  default: (await import('./chart-canvas.tsx')).ChartCanvas,
}));

/** Shows a course over time, its legend, and the same as a table for those who do not see it. */
export function Chart(props: ChartProps) {
  const { times, series, format } = props;
  // The visible part is drawn first.
  const table = useDeferredValue<ChartProps | null>(props, null);
  const [pointed, setPointed] = useState<number>();
  return (
    <figure className="min-w-0">
      <Suspense fallback={<div className="h-[200px]" />}>
        <ChartCanvas {...props} onPoint={setPointed} />
      </Suspense>
      <figcaption className="mt-2 min-h-5">
        <Legend {...{ times, series, format, pointed }} />
      </figcaption>
      {table && <ChartTable {...table} />}
    </figure>
  );
}

/** Says the values of the interval one points at, beside each name. */
function Legend({
  times,
  series,
  format,
  pointed,
}: Pick<ChartProps, 'times' | 'series' | 'format'> & { pointed: number | undefined }) {
  const { locale } = useSpeech();
  const { zone } = useZone();
  const at = pointed === undefined ? undefined : times[pointed];
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-table text-text-2">
      {series.map(({ name, color, values }) => {
        const value = pointed === undefined ? undefined : values[pointed];
        return (
          <span key={name} className="flex min-w-0 items-center gap-1.5">
            <svg aria-hidden viewBox="0 0 8 8" className="size-2 shrink-0">
              <rect width="8" height="8" rx="2" className={fillOf(color)} />
            </svg>
            <span className="foreign max-w-56 truncate">{name}</span>
            {value !== undefined && (
              <span className="tabular font-medium text-text">
                {value === null ? '–' : format(value)}
              </span>
            )}
          </span>
        );
      })}
      {at !== undefined && (
        <span className="ml-auto text-text-3">
          {formatExact(new Date(at).toISOString(), { locale, zone })}
        </span>
      )}
    </div>
  );
}

/** Limits the table to the last thousand intervals: more are of no use in a screen reader. */
const ROWS_MAX = 1_000;

const ChartTable = memo(function ChartTable({
  label,
  times,
  series,
  format,
}: Pick<ChartProps, 'label' | 'times' | 'series' | 'format'>) {
  const { words, locale } = useSpeech();
  const { general } = words;
  const { zone } = useZone();
  const first = Math.max(0, times.length - ROWS_MAX);
  return (
    <div className="sr-only">
      <table aria-label={label}>
        <thead>
          <tr>
            <td>{general.time}</td>
            {series.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.slice(first).map((at, row) => (
            <tr key={at}>
              <th scope="row">{formatExact(new Date(at).toISOString(), { locale, zone })}</th>
              {series.map(({ name, values }) => (
                <td key={name}>{formatOrDash(values[first + row], format)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
});

function formatOrDash(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value);
}
