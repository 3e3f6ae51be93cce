import { useSpeech } from '../../words/words.ts';
import { formatRelative } from '../format.ts';
import { useNow } from './time.tsx';

/** Later than this a live part has missed several answers. */
const STALE_AFTER_MS = 30_000;

/** Shows whether a part of a page is live, and when it was last fresh. */
export function Freshness({
  of: { dataUpdatedAt, isError },
}: {
  of: { dataUpdatedAt: number; isError: boolean };
}) {
  const { words, locale } = useSpeech();
  const now = useNow();
  if (dataUpdatedAt === 0) return null;
  const isLive = !isError && now - dataUpdatedAt < STALE_AFTER_MS;
  const when = formatRelative(new Date(dataUpdatedAt).toISOString(), { locale, now });
  return (
    <span
      className="inline-flex items-center gap-1.5 text-table text-text-3"
      title={words.general.updated(when)}
    >
      <span aria-hidden className={`size-1.5 rounded-full ${isLive ? 'bg-good' : 'bg-warn'}`} />
      {isLive ? words.general.live : `${words.general.stale} · ${words.general.updated(when)}`}
    </span>
  );
}
