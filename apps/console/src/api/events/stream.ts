import type { QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { GATEWAY } from '../../paths.ts';
import { LIVE } from '../live.ts';
import { Refreshes } from './refreshes.ts';
import { meQuery } from '../session.ts';

/** Lists the query keys that an event makes out of date, those that few queries answer first. Figures are read again rather than taken from events, so each has one source. */
const TOPICS: Readonly<Record<string, readonly string[]>> = {
  wallet: ['wallet'],
  balance: ['subscriptions'],
  alert: ['alerts', 'dashboard'],
  node: ['nodes', 'fleet', 'snapshots', 'dashboard'],
  requests: ['usage', 'statistics', 'dashboard', 'keys'],
};
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

/** Follows one stream for the whole console. The browser resumes it by itself; when the browser gives up, the console opens it again while a user is signed in. */
export function followEvents(queries: QueryClient): () => void {
  const refreshes = new Refreshes(queries);
  let source: EventSource | undefined;
  let reopening: ReturnType<typeof setTimeout> | undefined;
  const open = (): void => {
    const stream = new EventSource(`${GATEWAY}/admin-api/events`);
    source = stream;
    for (const [event, topics] of Object.entries(TOPICS))
      stream.addEventListener(event, ({ data }: MessageEvent<string>) =>
        refreshes.note({ topics, userId: ownerOf(data) }),
      );
    stream.addEventListener('ready', () => setStanding(true));
    stream.addEventListener('reset', () =>
      refreshes.note({ topics: Object.values(TOPICS).flat() }),
    );
    stream.addEventListener('error', () => {
      setStanding(false);
      if (stream.readyState !== EventSource.CLOSED) return;
      // The stream is refused permanently, perhaps because the session has ended: asking who is signed in finds out.
      void queries.invalidateQueries({ queryKey: meQuery.queryKey });
      reopening = setTimeout(open, REOPEN_MS);
    });
  };
  open();
  return () => {
    source?.close();
    refreshes.stop();
    clearTimeout(reopening);
    setStanding(false);
  };
}

/** Returns the account of an event; undefined where it concerns all. */
function ownerOf(data: string): number | undefined {
  const event: unknown = JSON.parse(data);
  const isOfOne = typeof event === 'object' && event !== null && 'user_id' in event;
  return isOfOne && typeof event.user_id === 'number' ? event.user_id : undefined;
}
