import { useEffect, useState } from 'react';
import { useSpeech } from '../../words/words.ts';
import { formatRelative } from '../format.ts';
import { timeFormat } from '../formats.ts';
import { useZone, type Zone } from './zone.tsx';

const STEP_MS = 15_000;

/** Returns the time on the reader's watch, every 15 seconds: enough for "3 minutes ago". */
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), STEP_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}

export function formatExact(
  at: string,
  { locale, zone, isBrief = false }: { locale: string; zone: Zone; isBrief?: boolean },
): string {
  return timeFormat(locale, {
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    ...(!isBrief && { second: '2-digit' }),
    hourCycle: 'h23',
    timeZoneName: 'short',
    ...(zone === 'utc' && { timeZone: 'UTC' }),
  }).format(new Date(at));
}

/** Shows "3 minutes ago" or "in 2 hours", for lists; the exact time on hover. */
export function Ago({ at }: { at: string }) {
  const { locale } = useSpeech();
  const { zone } = useZone();
  const now = useNow();
  return (
    <time dateTime={at} title={formatExact(at, { locale, zone })} className="whitespace-nowrap">
      {formatRelative(at, { locale, now })}
    </time>
  );
}

/** Shows the exact time with its zone, for pages; `isBrief` is for where seconds do not matter. */
export function Exact({ at, isBrief = false }: { at: string; isBrief?: boolean }) {
  const { locale } = useSpeech();
  const { zone } = useZone();
  return (
    <time dateTime={at} title={at} className={`tabular ${isBrief ? 'text-table' : ''}`}>
      {formatExact(at, { locale, zone, isBrief })}
    </time>
  );
}
