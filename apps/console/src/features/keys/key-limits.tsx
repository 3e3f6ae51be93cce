import type { Key } from '../../api/keys.ts';
import { formatCount } from '../../ui/format.ts';
import { useSpeech } from '../../words/words.ts';

/** The limits of a key as they are in force, in short. */
export function KeyLimits({ of: key }: { of: Key }) {
  const { rpm, rph, rpd } = key.limits_in_force;
  const { words, locale } = useSpeech();
  const { keys, general } = words;
  const count = (value: number): string => formatCount(value, locale);
  const texts = [
    ...(rpm > 0 ? [keys.perMinute(count(rpm))] : []),
    ...(rph > 0 ? [keys.perHour(count(rph))] : []),
    ...(rpd > 0 ? [keys.perDay(count(rpd))] : []),
  ];
  return texts.length === 0 ? (
    <span className="text-text-3">{general.unlimited}</span>
  ) : (
    <span className="tabular">{texts.join(' · ')}</span>
  );
}
