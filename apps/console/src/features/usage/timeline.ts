import type { UsageReceipt } from '../../api/usage.ts';

export type Span =
  | {
      kind: 'try' | 'failed' | 'passed';
      fromMs: number;
      toMs: number;
      upstreamId: number;
      status: number | undefined;
      error: string | undefined;
    }
  | { kind: 'wait' | 'stream'; fromMs: number; toMs: number };

export interface Timeline {
  spans: Span[];
  /** Holds what the drawing is as wide as; never zero. */
  totalMs: number;
  /** Is the time from arrival to the first booking. */
  bookedMs: number | undefined;
}

/** Returns what is known of when things happened, one after another from arrival: attempts, then the answer. */
export function timelineOf(receipt: UsageReceipt): Timeline {
  const { route, duration_ms: duration, first_token_ms: firstToken, is_stream: isStream } = receipt;
  const spans: Span[] = [];
  let at = 0;
  for (const { upstream_id: upstreamId, status, error, duration_ms: ms } of route) {
    const isPassed = error === 'resting' || error === 'full' || error === 'no_token';
    const isFailed = error !== undefined || (status !== undefined && status >= 400);
    const kind = isPassed ? 'passed' : isFailed ? 'failed' : 'try';
    spans.push({ kind, fromMs: at, toMs: at + ms, upstreamId, status, error });
    at += ms;
  }
  if (isStream === true && firstToken !== null && duration !== null) {
    spans.push({ kind: 'wait', fromMs: 0, toMs: firstToken });
    spans.push({ kind: 'stream', fromMs: firstToken, toMs: Math.max(duration, firstToken) });
  }
  const booked = receipt.events[0]?.booked_at;
  const totalMs = Math.max(1, duration ?? 0, ...spans.map(({ toMs }) => toMs));
  return {
    spans,
    totalMs,
    bookedMs:
      booked === undefined ? undefined : Date.parse(booked) - Date.parse(receipt.started_at),
  };
}
