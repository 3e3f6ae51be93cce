import { KEY_LIMITS } from '../../api/tables.ts';
import type { Key } from '../../api/keys.ts';
import { formatCount } from '../../ui/format.ts';
import { useSpeech } from '../../words/words.ts';

/** Shows the limits of a key as they are in force, in short. */
export function KeyLimits({ of: key }: { of: Key }) {
  const { words, locale } = useSpeech();
  const { general, tables } = words;
  const texts = KEY_LIMITS.flatMap(({ name }) => {
    const limit = key.limits_in_force[name];
    return limit > 0 ? [tables.limits[name].short(formatCount(limit, locale))] : [];
  });
  return texts.length === 0 ? (
    <span className="text-text-3">{general.unlimited}</span>
  ) : (
    <span className="tabular">{texts.join(' · ')}</span>
  );
}
