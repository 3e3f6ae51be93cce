import { randomFillSync } from 'node:crypto';
import type { TraceContext } from '@tollgate/contracts';
import { preciseNow, type Attributes, type FinishedSpan, type SpanKind } from './finished-span.ts';
import type { Tracing } from './tracing.ts';

/** Is more than one request makes; a stream that is continued over and over must not fill the memory. */
const SPANS_MAX = 64;
const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;

const POOL = Buffer.alloc(4_096);
let drawn = POOL.length;

/** Is a stage that runs. */
export class OpenSpan {
  readonly id = newSpanId();
  readonly #trace: Trace;
  #name: string;
  readonly #kind: SpanKind;
  readonly #parentSpanId: string | null;
  readonly #startMs: number;
  #attributes: Attributes = {};
  #hasEnded = false;

  constructor(
    trace: Trace,
    { name, kind, parentSpanId, startMs }: OpeningSpan & { parentSpanId: string | null },
  ) {
    this.#trace = trace;
    this.#name = name;
    this.#kind = kind;
    this.#parentSpanId = parentSpanId;
    this.#startMs = startMs ?? preciseNow();
  }

  /** Is for what the stage calls: its spans are below this one. */
  get context(): TraceContext {
    return { traceId: this.#trace.traceId, spanId: this.id, isSampled: this.#trace.isKept };
  }

  rename(name: string): void {
    this.#name = name;
  }

  set(attributes: Attributes): void {
    this.#attributes = { ...this.#attributes, ...attributes };
  }

  /** Ends the stage. `error` says why it failed. The first call counts. */
  end(error: string | null = null): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#trace.collect({
      name: this.#name,
      kind: this.#kind,
      context: this.context,
      parentSpanId: this.#parentSpanId,
      startMs: this.#startMs,
      endMs: preciseNow(),
      attributes: this.#attributes,
      error,
    });
  }
}

interface OpeningSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly startMs?: number;
}

/**
 * Holds the spans of one request in this process. They wait until it is known whether the trace is kept: by the decision at its beginning, or because
 * something failed. Once handed over, a span that ends late goes out by itself.
 */
export class Trace {
  readonly traceId: string;
  readonly #tracing: Tracing;
  readonly #callerSpanId: string | null;
  #isKept: boolean;
  #waiting: FinishedSpan[] | null = [];

  constructor(tracing: Tracing, caller: TraceContext | null) {
    this.#tracing = tracing;
    this.#callerSpanId = caller?.spanId ?? null;
    this.traceId = caller?.traceId ?? randomHex(TRACE_ID_BYTES);
    this.#isKept = tracing.samples(caller);
  }

  get isKept(): boolean {
    return this.#isKept;
  }

  keep(): void {
    this.#isKept = true;
  }

  /** Opens a span below its parent, or below the caller's span when none is given. */
  open(opening: OpeningSpan, parent: OpenSpan | null = null): OpenSpan {
    return new OpenSpan(this, { ...opening, parentSpanId: parent?.id ?? this.#callerSpanId });
  }

  collect(span: FinishedSpan): void {
    if (!this.#waiting) {
      if (this.#isKept) this.#tracing.record(span);
    } else if (this.#waiting.length < SPANS_MAX) this.#waiting.push(span);
  }

  /** The request is over. */
  handOver(): void {
    const spans = this.#waiting ?? [];
    this.#waiting = null;
    if (this.#isKept) for (const span of spans) this.#tracing.record(span);
  }
}

function newSpanId(): string {
  return randomHex(SPAN_ID_BYTES);
}

/** Draws from a pool: a call of the system for each id would be most of what a span costs. */
function randomHex(bytes: number): string {
  if (drawn + bytes > POOL.length) {
    randomFillSync(POOL);
    drawn = 0;
  }
  drawn += bytes;
  return POOL.toString('hex', drawn - bytes, drawn);
}

/** Records a span of a trace that began elsewhere; answers its place, for spans below it. */
export function recordBelow(
  tracing: Tracing,
  parent: TraceContext,
  span: Omit<FinishedSpan, 'context' | 'parentSpanId'>,
): TraceContext {
  const context = { traceId: parent.traceId, spanId: newSpanId(), isSampled: true };
  tracing.record({ ...span, context, parentSpanId: parent.spanId });
  return context;
}
