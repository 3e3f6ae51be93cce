import { setTimeout as delay } from 'node:timers/promises';
import {
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type HrTime,
  type SpanContext,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes, type Resource } from '@opentelemetry/resources';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace';
import type { TraceContext } from '@tollgate/contracts';
import type { FinishedSpan } from './finished-span.ts';
import type { TracesSettings } from './settings.ts';
import type { TracedService, Tracing } from './tracing.ts';

/** Is about a second of a busy worker; more are dropped while the collector is slow. */
const QUEUE_SPANS_MAX = 8_192;
const BATCH_SPANS_MAX = 512;
const SEND_EVERY_MS = 1_000;
const SEND_TIMEOUT_MS = 5_000;
const CLOSE_TIMEOUT_MS = 3_000;
const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
};

/** Sends spans by OTLP over HTTP. The only file that loads the SDK, of which it needs no tracer: the spans it is given have ended. */
export class OtlpTracing implements Tracing {
  readonly #settings: TracesSettings;
  readonly #scope: { name: string; version: string };
  readonly #resource: Resource;
  readonly #processor: BatchSpanProcessor;

  constructor(
    settings: TracesSettings & { TRACES_URL: string },
    { name, version, instance }: TracedService,
    onFailure: (error: Error) => void,
  ) {
    this.#settings = settings;
    this.#scope = { name: 'tollgate', version };
    this.#resource = resourceFromAttributes({
      'service.name': name,
      'service.version': version,
      'service.instance.id': instance,
    });
    const exporter = new OTLPTraceExporter({
      url: settings.TRACES_URL,
      headers: settings.TRACES_HEADERS ?? {},
      timeoutMillis: SEND_TIMEOUT_MS,
    });
    this.#processor = new BatchSpanProcessor({
      exporter: reporting(exporter, onFailure),
      maxQueueSize: QUEUE_SPANS_MAX,
      maxExportBatchSize: BATCH_SPANS_MAX,
      scheduledDelayMillis: SEND_EVERY_MS,
      exportTimeoutMillis: SEND_TIMEOUT_MS,
    });
  }

  samples(caller: TraceContext | null): boolean {
    const { TRACES_RATIO: ratio, TRACES_FOLLOW_CALLER: isFollowing } = this.#settings;
    return (isFollowing && caller?.isSampled === true) || Math.random() < ratio;
  }

  record(span: FinishedSpan): void {
    this.#processor.onEnd(this.#readable(span));
  }

  async close(): Promise<void> {
    await Promise.race([
      this.#processor.shutdown().catch(() => undefined),
      delay(CLOSE_TIMEOUT_MS, undefined, { ref: false }),
    ]);
  }

  #readable(span: FinishedSpan): ReadableSpan {
    const { name, context, parentSpanId, startMs, endMs, attributes, error } = span;
    const { traceId } = context;
    return {
      name,
      kind: KINDS[span.kind],
      spanContext: () => contextOf(traceId, context.spanId),
      ...(parentSpanId !== null && { parentSpanContext: contextOf(traceId, parentSpanId) }),
      startTime: hrTime(startMs),
      endTime: hrTime(endMs),
      duration: hrTime(endMs - startMs),
      status: { code: error === null ? SpanStatusCode.UNSET : SpanStatusCode.ERROR },
      attributes: { ...attributes, ...(error !== null && { 'error.type': error }) },
      links: [],
      events: [],
      ended: true,
      resource: this.#resource,
      instrumentationScope: this.#scope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  }
}

/** The processor sends every span that reaches it, whatever was decided when the span began. */
function contextOf(traceId: string, spanId: string): SpanContext {
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
}

function hrTime(ms: number): HrTime {
  const seconds = Math.trunc(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1e6)];
}

/** The SDK keeps failures to itself. */
function reporting(exporter: SpanExporter, onFailure: (error: Error) => void): SpanExporter {
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.error) onFailure(result.error);
        done(result);
      }),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => exporter.shutdown(),
  };
}
