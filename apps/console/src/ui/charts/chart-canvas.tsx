import { useEffect, useEffectEvent, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useTheme } from '../../browser/theme.ts';
import { useSpeech } from '../../words/words.ts';
import { endOf, type ChartProps } from './chart-data.ts';
import { denseBars } from './dense-bars.ts';
import { timeFormat } from '../formats.ts';
import { paintOf, paintOfToken } from './series.ts';
import { useZone, type Zone } from '../time/zone.tsx';

const HEIGHT = 200;
const BAR_SHARE = 0.72;
const BAR_WIDTH_MAX = 36;
/** Narrower bars are drawn as one outline. */
const BAR_WIDTH_MIN = 3;
/** Is the width below which a marked part was a click. */
const ZOOM_PIXELS_MIN = 8;

/** Draws on canvas, which costs the same for ten points and ten thousand. */
export function ChartCanvas(props: ChartProps & { onPoint: (index: number | undefined) => void }) {
  const { kind, times, series, label } = props;
  const host = useRef<HTMLDivElement>(null);
  const { shown } = useTheme();
  const { locale } = useSpeech();
  const { zone } = useZone();
  const build = useEffectEvent((element: HTMLElement) => {
    const startedAt = performance.now();
    const hooks = {
      onPoint: props.onPoint,
      onZoom: props.onZoom,
      onPick: props.onPick,
    };
    const options = optionsOf(props, { width: element.clientWidth, locale, zone, hooks });
    // `npm run bench -- console` reads it.
    const noteDrawn = (): void => {
      performance.clearMeasures('chart');
      performance.measure('chart', { start: startedAt });
    };
    return new uPlot(
      { ...options, hooks: { ...options.hooks, draw: [noteDrawn] } },
      dataOf(props),
      element,
    );
  });
  useEffect(() => {
    const element = host.current;
    if (!element) return undefined;
    const plot = build(element);
    // The observer also reports the size that it finds first, in which the chart is already drawn.
    const observer = new ResizeObserver(() => {
      if (element.clientWidth !== plot.width)
        plot.setSize({ width: element.clientWidth, height: HEIGHT });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
    // A canvas does not notice what it was drawn from: any of these draws it again.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [kind, times, series, shown, locale, zone]);
  return <div ref={host} role="img" aria-label={label} className="h-[200px] w-full" />;
}

/** uPlot counts in seconds. Stacked series are drawn from the tallest sum down, so that each shows its own part. */
function dataOf({ kind, times, series }: ChartProps): uPlot.AlignedData {
  const seconds = times.map((at) => at / 1000);
  if (kind === 'lines') return [seconds, ...series.map(({ values }) => [...values])];
  const sums = seconds.map(() => 0);
  const stacked = series.map(({ values }) =>
    values.map((value, index) => (sums[index] = (sums[index] ?? 0) + (value ?? 0))),
  );
  return [seconds, ...stacked.reverse()];
}

interface Surroundings {
  width: number;
  locale: string;
  zone: Zone;
  hooks: Pick<ChartProps, 'onZoom' | 'onPick'> & {
    onPoint: (index: number | undefined) => void;
  };
}

function optionsOf(props: ChartProps, surroundings: Surroundings): uPlot.Options {
  const { kind, series, times } = props;
  const { width, zone, hooks } = surroundings;
  const drawn = kind === 'bars' ? series.toReversed() : series;
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    padding: [8, 20, 0, 0],
    ...(zone === 'utc' && { tzDate: (at: number) => uPlot.tzDate(new Date(at * 1000), 'Etc/UTC') }),
    scales: {
      x: { range: () => rangeOf(times, kind) },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: axesOf(props, surroundings),
    series: [
      {},
      ...drawn.map(({ color, name }) => ({
        label: name,
        ...(kind === 'bars'
          ? barsOf(paintOf(color), width / times.length < BAR_WIDTH_MIN)
          : lineOf(paintOf(color))),
      })),
    ],
    cursor: {
      y: false,
      points: { show: kind === 'lines' },
      drag: { x: hooks.onZoom !== undefined, y: false, setScale: false },
    },
    hooks: {
      setCursor: [(plot) => hooks.onPoint(plot.cursor.idx ?? undefined)],
      setSelect: [(plot) => select(plot, props)],
      ready: [(plot) => listenForClick(plot, props)],
    },
  };
}

function axesOf({ format }: ChartProps, { locale, zone }: Surroundings): uPlot.Axis[] {
  const axis = {
    stroke: paintOfToken('text-3'),
    font: '12px "Inter Variable", system-ui, sans-serif',
    ticks: { show: false },
  };
  return [
    {
      ...axis,
      grid: { show: false },
      space: 72,
      size: 28,
      values: (_, splits) => timeLabels(splits, { locale, zone }),
    },
    {
      ...axis,
      size: 62,
      grid: { stroke: paintOfToken('line'), width: 1 },
      values: (_, splits) => splits.map((value) => format(value)),
    },
  ];
}

function lineOf(color: string): uPlot.Series {
  return { stroke: color, width: 1.5, spanGaps: false, points: { show: false } };
}

function barsOf(color: string, isDense: boolean): uPlot.Series {
  const paths = isDense
    ? denseBars
    : uPlot.paths.bars?.({ size: [BAR_SHARE, BAR_WIDTH_MAX], align: 1 });
  return { fill: color, width: 0, stroke: color, points: { show: false }, ...(paths && { paths }) };
}

/** Bars stand on their whole interval; lines end at their last point. */
function rangeOf(times: readonly number[], kind: ChartProps['kind']): [number, number] {
  const [first = 0, last = first] = [times[0], times.at(-1)];
  const end = kind === 'bars' ? endOf(times, times.length - 1) : last;
  return [first / 1000, Math.max(end, first + 1000) / 1000];
}

function timeLabels(
  splits: readonly number[],
  { locale, zone }: { locale: string; zone: Zone },
): string[] {
  const isWithinDays = (splits.at(-1) ?? 0) - (splits[0] ?? 0) <= 3 * 86_400;
  const format = timeFormat(locale, {
    ...(isWithinDays
      ? { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }
      : { month: 'short', day: 'numeric' }),
    ...(zone === 'utc' && { timeZone: 'UTC' }),
  });
  return splits.map((at) => format.format(new Date(at * 1000)));
}

function select(plot: uPlot, { onZoom, times }: ChartProps): void {
  const { left, width } = plot.select;
  if (width < ZOOM_PIXELS_MIN || !onZoom) return;
  const [from, to] = [plot.posToIdx(left), plot.posToIdx(left + width)];
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  const start = times[from];
  if (start !== undefined) onZoom(start, endOf(times, to));
}

function listenForClick(plot: uPlot, { onPick, times }: ChartProps): void {
  if (!onPick) return;
  let downAt = 0;
  plot.over.addEventListener('mousedown', (event) => (downAt = event.clientX));
  plot.over.addEventListener('click', (event) => {
    const index = plot.cursor.idx;
    const at = index === null || index === undefined ? undefined : times[index];
    if (at === undefined || Math.abs(event.clientX - downAt) >= ZOOM_PIXELS_MIN) return;
    onPick(at, endOf(times, index ?? 0));
  });
}
