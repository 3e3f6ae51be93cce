import { formatCount } from '../../ui/format.ts';
import type { Speech } from '../../words/words.ts';
import type { NearLimit } from './use-near-limits.ts';

/** Says which limit of which key is near or reached. */
export function nearLimitText(
  { key, window: { window, limit, used }, isReached }: NearLimit,
  speech: Speech,
): string {
  const { overview, tables } = speech.words;
  const count = (value: number): string => formatCount(value, speech.locale);
  const bound = tables.limits[window].short(count(limit));
  return isReached
    ? overview.limitReached(key.name, bound)
    : overview.limitNear(key.name, count(used), bound);
}
