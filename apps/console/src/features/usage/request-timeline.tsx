import { useQuery } from '@tanstack/react-query';
import { useMe } from '../../api/session.ts';
import { upstreamsQuery } from '../../api/upstreams.ts';
import type { UsageReceipt } from '../../api/usage.ts';
import { Badge } from '../../ui/badge.tsx';
import { Duration } from '../../ui/figures.tsx';
import { useWords, type Words } from '../../words/words.ts';
import { timelineOf, type Span } from './timeline.ts';

const WIDTH = 1000;
const FILLS = {
  try: 'fill-series-1',
  failed: 'fill-bad',
  passed: 'fill-line-strong',
  wait: 'fill-series-6',
  stream: 'fill-series-3',
} as const;

/** Draws the time from arrival to booking, to scale. */
export function RequestTimeline({ of: receipt }: { of: UsageReceipt }) {
  const words = useWords();
  const { spans, totalMs, bookedMs } = timelineOf(receipt);
  const nameOf = useUpstreamNames(receipt);
  return (
    <div className="flex flex-col gap-2">
      <ul className="flex flex-col gap-2">
        {spans.map((span, index) => (
          <SpanRow key={index} of={span} label={labelOf(span, nameOf, words)} totalMs={totalMs} />
        ))}
      </ul>
      <p className="flex flex-wrap items-center gap-x-4 gap-y-1 border-t border-line pt-2.5 text-table text-text-2">
        <span>
          {words.request.ended} <Duration ms={receipt.duration_ms} />
        </span>
        {bookedMs !== undefined && (
          <span>
            {words.request.booked} <Duration ms={bookedMs} />
          </span>
        )}
        {receipt.status !== null && (
          <Badge tone={receipt.status < 400 ? 'good' : 'bad'}>
            {words.request.answered(String(receipt.status))}
          </Badge>
        )}
      </p>
    </div>
  );
}

interface SpanRowProps {
  of: Span;
  label: string;
  totalMs: number;
}

function SpanRow({ of: span, label, totalMs }: SpanRowProps) {
  return (
    <li className="grid grid-cols-[minmax(0,2fr)_minmax(0,5fr)_4.5rem] max-sm:grid-cols-[minmax(0,1fr)_minmax(0,1fr)_3.5rem] items-center gap-3 text-table">
      <span className="foreign line-clamp-2">{label}</span>
      <svg
        aria-hidden
        viewBox={`0 0 ${WIDTH} 10`}
        preserveAspectRatio="none"
        className="h-2.5 w-full rounded-sm bg-sunken"
      >
        <rect
          x={Math.min(WIDTH - 4, (span.fromMs / totalMs) * WIDTH)}
          width={Math.max(4, ((span.toMs - span.fromMs) / totalMs) * WIDTH)}
          height="10"
          rx="2"
          className={FILLS[span.kind]}
        />
      </svg>
      <span className="text-right text-text-2">
        <Duration ms={span.toMs - span.fromMs} />
      </span>
    </li>
  );
}

/** Returns a function that names an upstream by its id: an account knows the name of the one that answered it, an administrator all. */
function useUpstreamNames({ upstream_id: servedBy, upstream }: UsageReceipt) {
  const me = useMe();
  const { usage } = useWords();
  const { data } = useQuery({ ...upstreamsQuery, enabled: me.role === 'admin' });
  return (id: number): string =>
    (id === servedBy ? upstream : undefined) ??
    data?.data.find((one) => one.id === id)?.name ??
    `${usage.upstream} ${id}`;
}

function labelOf(span: Span, nameOf: (upstreamId: number) => string, words: Words): string {
  const { request } = words;
  switch (span.kind) {
    case 'wait':
      return request.waiting;
    case 'stream':
      return request.streaming;
    case 'passed':
    case 'failed':
    case 'try': {
      const name = nameOf(span.upstreamId);
      const said = [
        reasonOf(span.error, words),
        span.status && request.answered(String(span.status)),
      ]
        .filter((part) => part !== undefined && part !== 0)
        .join(', ');
      const label = span.kind === 'passed' ? request.passedOver(name) : request.tried(name);
      return said === '' ? label : `${label}: ${said}`;
    }
  }
}

function reasonOf(error: string | undefined, { request }: Words): string | undefined {
  if (error === 'resting' || error === 'full' || error === 'no_token')
    return request.reasons[error];
  return error;
}
