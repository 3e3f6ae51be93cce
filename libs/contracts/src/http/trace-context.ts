/** W3C Trace Context, section 3.2; version ff and ids of zeros are not valid. */
export const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The place of a span in a trace. */
export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** The span is recorded by what made it. */
  readonly isSampled: boolean;
}

/** Null for what is no `traceparent`. */
export function readTraceparent(text: unknown): TraceContext | null {
  if (typeof text !== 'string' || !TRACEPARENT.test(text)) return null;
  return {
    traceId: text.slice(3, 35),
    spanId: text.slice(36, 52),
    isSampled: (Number.parseInt(text.slice(53), 16) & SAMPLED) !== 0,
  };
}

export function writeTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-0${isSampled ? SAMPLED : 0}`;
}

const SAMPLED = 1;
