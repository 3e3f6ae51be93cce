/** Matches a `traceparent` of W3C Trace Context, section 3.2. Version ff and ids of zeros are invalid. */
export const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Identifies a span in a trace. */
export interface TraceContext {
  /** Has 32 hex digits. */
  readonly traceId: string;
  /** Has 16 hex digits. */
  readonly spanId: string;
  /** Is true when the maker of the span records it. */
  readonly isSampled: boolean;
}

/** Returns null for a text that is not a `traceparent`. */
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
