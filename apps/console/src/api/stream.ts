import type { QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { GATEWAY } from '../paths.ts';
import { LIVE } from './live.ts';
import { meQuery } from './session.ts';

/** Lists the query keys that an event makes out of date. Figures are read again rather than taken from events, so each has one source. */
const TOPICS: Readonly<Record<string, readonly string[]>> = {
  alert: ['alerts', 'dashboard'],
  node: ['nodes', 'fleet', 'snapshots', 'dashboard'],
  requests: ['usage', 'statistics', 'dashboard', 'keys'],
  balance: ['subscriptions'],
  wallet: ['wallet'],
};
/** Many events in a moment are one reason to look. */
const GATHER_MS = 300;
const REOPEN_MS = 5_000;

let isStanding = false;
const listeners = new Set<() => void>();

function setStanding(next: boolean): void {
  isStanding = next;
  for (const listener of listeners) listener();
}

/** While the stream is open, the data that it reports is not polled. */
export function useLive(): { refetchInterval: number | false; refetchIntervalInBackground: false } {
  const stands = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isStanding,
  );
  return stands ? { ...LIVE, refetchInterval: false } : LIVE;
}

/** One stream for the whole console. The browser resumes it by itself; when the browser gives up, the console opens it again while a user is signed in. */
export function followEvents(queries: QueryClient): () => void {
  const stale = new Set<string>();
  let source: EventSource | undefined;
  let gathering: ReturnType<typeof setTimeout> | undefined;
  let reopening: ReturnType<typeof setTimeout> | undefined;
  const refresh = (): void => {
    // The page of a record that is being deleted may still be on screen, so the record is not asked for.
    const isActing = queries.isMutating() > 0;
    gathering = isActing ? setTimeout(refresh, GATHER_MS) : undefined;
    if (isActing) return;
    const topics = [...stale];
    stale.clear();
    for (const topic of topics) void queries.invalidateQueries({ queryKey: [topic] });
  };
  const note = (topics: readonly string[]): void => {
    for (const topic of topics) stale.add(topic);
    gathering ??= setTimeout(refresh, GATHER_MS);
  };
  const open = (): void => {
    const stream = new EventSource(`${GATEWAY}/admin-api/events`);
    source = stream;
    for (const [event, topics] of Object.entries(TOPICS))
      stream.addEventListener(event, () => note(topics));
    stream.addEventListener('ready', () => setStanding(true));
    stream.addEventListener('reset', () => note(Object.values(TOPICS).flat()));
    stream.addEventListener('error', () => {
      setStanding(false);
      if (stream.readyState !== EventSource.CLOSED) return;
      // Refused permanently, perhaps because the session has ended: asking who is signed in finds out.
      void queries.invalidateQueries({ queryKey: meQuery.queryKey });
      reopening = setTimeout(open, REOPEN_MS);
    });
  };
  open();
  return () => {
    source?.close();
    clearTimeout(gathering);
    clearTimeout(reopening);
    setStanding(false);
  };
}
