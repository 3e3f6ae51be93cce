import { useEffect, useState } from 'react';
import { useSpeech } from '../../words/words.ts';
import { timeFormat } from '../formats.ts';
import { useZone, type Zone } from './zone.tsx';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
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

export function formatRelative(
  at: string,
  { locale, now }: { locale: string; now: number },
): string {
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  const distance = new Date(at).getTime() - now;
  const size = Math.abs(distance);
  if (size < MINUTE) return format.format(Math.round(distance / 1000), 'second');
  if (size < HOUR) return format.format(Math.round(distance / MINUTE), 'minute');
  if (size < DAY) return format.format(Math.round(distance / HOUR), 'hour');
  return format.format(Math.round(distance / DAY), 'day');
}

/** Shows "3 minutes ago", for lists; the exact time on hover. */
export function Ago({ at }: { at: string }) {
  const { locale } = useSpeech();
  const { zone } = useZone();
  // The watch here may be behind what has just happened there: "now", never "in 2 seconds".
  const now = Math.max(useNow(), Date.parse(at));
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
