import type { TraceContext } from '@tollgate/contracts';

export type Attribute = string | number | boolean | readonly string[];
export type Attributes = Readonly<Record<string, Attribute | undefined>>;
/** Says what a span is: `server` a request that came in, `client` one that went out, `consumer` a job, `internal` work of this process. */
export type SpanKind = 'server' | 'client' | 'consumer' | 'internal';

/** Is one stage of a request, as it is exported. */
export interface FinishedSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly context: TraceContext;
  readonly parentSpanId: string | null;
  /** Is the time at which the span began, in Unix ms with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  /** Is a short machine-readable reason; null unless it failed. */
  readonly error: string | null;
}

/** Returns Unix ms with fractions: the durations of stages are fractions of a millisecond. */
export function preciseNow(): number {
  return performance.timeOrigin + performance.now();
}
