import { Injectable, Logger } from '@nestjs/common';
import type { TraceContext } from '@tollgate/contracts';
import {
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  Registry,
  type OpenMetricsContentType,
} from 'prom-client';

const LATENCY_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Prometheus waits 10 s for a scrape. Each collector that takes longer than this is omitted. */
const COLLECT_TIMEOUT_MS = 4_000;
/** A timer samples the event loop's delay, and each sample wakes an idle process. */
const EVENT_LOOP_SAMPLE_MS = 100;

/** Sets gauges for a scrape. If it fails, its gauges are absent, because an old figure would look current. */
export interface Collector {
  readonly name: string;
  readonly gauges: readonly Gauge[];
  readonly collect: () => Promise<void>;
}

/** Holds the figures of this process, and reads others from PostgreSQL and Redis at a scrape. Labels are bounded: never an account, a key or a user. */
@Injectable()
export class Metrics {
  private readonly logger = new Logger('metrics');
  private readonly registry = openMetricsRegistry();
  private readonly collectors: Collector[] = [];
  private readonly plain = new Set<Gauge>();
  private readonly failing = new Set<string>();
  private running: Promise<string> | undefined;
  private readonly http = this.histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of requests, to the last byte.',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: LATENCY_SECONDS,
  });
  private readonly success = this.gauge({
    name: 'tollgate_collector_success',
    help: '0 while the figures of a collector cannot be read; they are left out then.',
    labelNames: ['collector'],
  });

  constructor() {
    collectDefaultMetrics({
      register: this.registry,
      eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_MS,
    });
  }

  gauge(options: { name: string; help: string; labelNames?: readonly string[] }): Gauge {
    const gauge = new Gauge({ ...options, registers: [this.registry] });
    if (!options.labelNames) this.plain.add(gauge);
    return gauge;
  }

  counter(options: { name: string; help: string; labelNames?: readonly string[] }): Counter {
    return new Counter({ ...options, registers: [this.registry] });
  }

  histogram(options: {
    name: string;
    help: string;
    labelNames?: readonly string[];
    buckets: readonly number[];
  }): Histogram {
    return new Histogram({
      ...options,
      buckets: [...options.buckets],
      registers: [this.registry],
      enableExemplars: true,
    });
  }

  collectWith(collector: Collector): void {
    this.collectors.push(collector);
  }

  served({ requestId, method, route, status, durationMs, trace }: ServedRequest): void {
    this.http.observe({
      labels: {
        http_request_method: method,
        http_route: route,
        http_response_status_code: String(status),
      },
      value: durationMs / 1000,
      exemplarLabels: exemplarOf(requestId, trace),
    });
  }

  /** Returns the figures in the OpenMetrics format. All scrapes at the same moment share one reading. */
  text(): Promise<string> {
    this.running ??= this.read().finally(() => (this.running = undefined));
    return this.running;
  }

  private async read(): Promise<string> {
    await Promise.all(this.collectors.map((collector) => this.runCollector(collector)));
    return this.registry.metrics();
  }

  private async runCollector({ name, gauges, collect }: Collector): Promise<void> {
    try {
      await within(COLLECT_TIMEOUT_MS, collect());
      this.failing.delete(name);
    } catch (error) {
      for (const gauge of gauges) {
        gauge.reset();
        // A reset leaves a sample of 0 in a gauge without labels.
        if (this.plain.has(gauge)) gauge.remove();
      }
      if (!this.failing.has(name)) this.logger.warn(error, `the metrics of ${name} cannot be read`);
      this.failing.add(name);
    }
    this.success.set({ collector: name }, Number(!this.failing.has(name)));
  }
}

export interface ServedRequest {
  readonly requestId: string;
  readonly method: string;
  /** Is the declared route, never the requested path. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  /** Holds the ids of the request's trace; null when it is not kept. */
  readonly trace: TraceContext | null;
}

export function exemplarOf(requestId: string, trace: TraceContext | null): Record<string, string> {
  return trace
    ? { request_id: requestId, trace_id: trace.traceId, span_id: trace.spanId }
    : { request_id: requestId };
}

/** prom-client's typed constructor makes registries of the Prometheus format only, which take no exemplars. */
function openMetricsRegistry(): Registry<OpenMetricsContentType> {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  return registry;
}

async function within(limitMs: number, work: Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => reject(new Error(`took longer than ${limitMs} ms`)), limitMs);
  try {
    await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
