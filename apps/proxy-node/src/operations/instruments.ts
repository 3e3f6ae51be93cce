import type { TraceContext } from '@tollgate/contracts';
import type { Metric, OpenMetricsContentType, Registry } from 'prom-client';

/** Names a request as the exemplar of its bucket. */
export interface Exemplary {
  readonly rid: string;
  readonly trace: TraceContext | null;
}

interface Description {
  readonly name: string;
  readonly help: string;
  /** There are at most three label names. */
  readonly labelNames: readonly string[];
}

type Level<Series> = Map<string, Level<Series> | Series>;

/**
 * Counts one metric in a series for each combination of label values. prom-client's own instruments hash and sort the labels of each count and check
 * its exemplar, which allocates 10 KB a request. These find a series by its values alone, and prom-client's registry reads them at a scrape.
 */
abstract class Instrument<Series extends object> {
  /** The registry removes `_total` from names of counters. */
  name: string;
  readonly help: string;
  abstract readonly type: 'counter' | 'histogram';
  readonly #labelNames: readonly string[];
  readonly #series: Level<Series> = new Map();
  readonly #all: { labels: Record<string, string>; series: Series }[] = [];

  constructor(registry: Registry<OpenMetricsContentType>, { name, help, labelNames }: Description) {
    this.name = name;
    this.help = help;
    this.#labelNames = labelNames;
    // The registry's type is prom-client's class; it calls `get` and reads the fields above.
    registry.registerMetric(this as unknown as Metric);
  }

  /** The registry calls this method at a scrape. */
  get(): object {
    const { name, help, type } = this;
    const values = this.#all.flatMap(({ labels, series }) => this.valuesOf(series, labels));
    return { name, help, type, values };
  }

  protected abstract start(): Series;
  protected abstract valuesOf(series: Series, labels: Record<string, string>): object[];

  /** Returns the series of these values, in the order of the labels' names. */
  protected at(one: string, two: string, three: string): Series {
    const { length } = this.#labelNames;
    let level = this.#series;
    if (length > 1) level = below(level, one);
    if (length > 2) level = below(level, two);
    const last = length === 1 ? one : length === 2 ? two : three;
    return (level.get(last) as Series | undefined) ?? this.#add(level, last, [one, two, three]);
  }

  #add(level: Level<Series>, last: string, values: readonly string[]): Series {
    const series = this.start();
    level.set(last, series);
    const labels = this.#labelNames.map((name, place) => [name, values[place] ?? '']);
    this.#all.push({ labels: Object.fromEntries(labels), series });
    return series;
  }
}

function below<Series>(level: Level<Series>, value: string): Level<Series> {
  const known = level.get(value) as Level<Series> | undefined;
  if (known) return known;
  const made: Level<Series> = new Map();
  level.set(value, made);
  return made;
}

interface Count {
  value: number;
}

export class LiveCounter extends Instrument<Count> {
  readonly type = 'counter';

  /** Adds `by` to the series with these label values. */
  inc(by: number, one: string, two = '', three = ''): void {
    this.at(one, two, three).value += by;
  }

  protected start(): Count {
    return { value: 0 };
  }

  protected valuesOf({ value }: Count, labels: Record<string, string>): object[] {
    return [{ value, labels }];
  }
}

interface Bucket {
  readonly le: number | string;
  count: number;
  /** Is the last request in this bucket. */
  rid: string | null;
  trace: TraceContext | null;
  value: number;
  atMs: number;
}

interface Distribution {
  readonly buckets: readonly Bucket[];
  sum: number;
}

export class LiveHistogram extends Instrument<Distribution> {
  readonly type = 'histogram';
  readonly #bounds: readonly (number | string)[];

  /** `bounds` are the rising upper bounds of the buckets; the last bucket takes larger values. */
  constructor(
    registry: Registry<OpenMetricsContentType>,
    { bounds, ...description }: Description & { bounds: readonly number[] },
  ) {
    super(registry, description);
    this.#bounds = [...bounds, '+Inf'];
  }

  /** Counts a value in the series with these label values. */
  observe(value: number, by: Exemplary, one: string, two = '', three = ''): void {
    const series = this.at(one, two, three);
    const { buckets } = series;
    let place = 0;
    while (place < buckets.length - 1 && value > Number(buckets[place]?.le)) place += 1;
    const bucket = buckets[place] as Bucket;
    bucket.count += 1;
    bucket.rid = by.rid;
    bucket.trace = by.trace;
    bucket.value = value;
    bucket.atMs = Date.now();
    series.sum += value;
  }

  protected start(): Distribution {
    const empty = { count: 0, rid: null, trace: null, value: 0, atMs: 0 };
    return { buckets: this.#bounds.map((le) => ({ le, ...empty })), sum: 0 };
  }

  protected valuesOf(
    { buckets, sum }: Distribution,
    sharedLabels: Record<string, string>,
  ): object[] {
    let count = 0;
    const cumulated = buckets.map((bucket) => {
      count += bucket.count;
      const metricName = `${this.name}_bucket`;
      return {
        metricName,
        value: count,
        labels: { le: bucket.le },
        sharedLabels,
        ...exemplarOf(bucket),
      };
    });
    return [
      ...cumulated,
      { metricName: `${this.name}_sum`, value: sum, labels: {}, sharedLabels },
      { metricName: `${this.name}_count`, value: count, labels: {}, sharedLabels },
    ];
  }
}

function exemplarOf({ rid, trace, value, atMs }: Bucket): { exemplar?: object } {
  if (rid === null) return {};
  const labelSet = trace
    ? { request_id: rid, trace_id: trace.traceId, span_id: trace.spanId }
    : { request_id: rid };
  return { exemplar: { labelSet, value, timestamp: atMs / 1_000 } };
}
