import { useSyncExternalStore } from 'react';

/** Matches what `max-md` does. */
const narrow = window.matchMedia('(width < 48rem)');

/** Returns whether the window is narrow, for parts that cost too much to be drawn and then hidden by a class. */
export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => narrow.matches);
}

function subscribe(onChange: () => void): () => void {
  narrow.addEventListener('change', onChange);
  return () => narrow.removeEventListener('change', onChange);
}
