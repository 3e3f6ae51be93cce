import { useQuery } from '@tanstack/react-query';
import { keysQuery, type Key, type KeyWindow } from '../../api/keys.ts';
import { SLOWLY_LIVE } from '../../api/live.ts';
import { useKeyFills } from './key-fill.tsx';
import { fillOf } from '../../ui/charts/fill.ts';

/** Is the longest window of a limit: a key that rests longer has all of it back. */
const WINDOW_MS = 24 * 3_600_000;

export interface NearLimit {
  key: Key;
  window: KeyWindow;
  isReached: boolean;
}

/** Returns the limits of the account's keys that are near or reached, with the fullest window of each key. */
export function useNearLimits(userId: number): NearLimit[] {
  const { data: keys } = useQuery({
    ...keysQuery({ user_id: userId, status: 'enabled' }),
    ...SLOWLY_LIVE,
  });
  const busy = (keys?.data ?? [])
    .filter(isInUse)
    .toSorted((a, b) => (b.last_used_at ?? '').localeCompare(a.last_used_at ?? ''));
  const fills = useKeyFills(busy);
  return busy.flatMap((key) => {
    const fullest = (fills.get(key.id) ?? [])
      .filter((window) => fillOf(window) !== 'free')
      .toSorted((a, b) => b.used / b.limit - a.used / a.limit)[0];
    return fullest ? [{ key, window: fullest, isReached: fillOf(fullest) === 'reached' }] : [];
  });
}

function isInUse({ last_used_at: at }: Key): boolean {
  return at !== null && Date.now() - Date.parse(at) < WINDOW_MS;
}
