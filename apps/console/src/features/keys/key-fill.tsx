import { useQuery } from '@tanstack/react-query';
import { keysWindowsQuery, type Key, type KeyWindow } from '../../api/keys.ts';
import { isLimited } from '../../api/tables.ts';
import { SLOWLY_LIVE } from '../../api/live.ts';
import { formatCount } from '../../ui/format.ts';
import { Gauge } from '../../ui/charts/gauge.tsx';
import { useSpeech } from '../../words/words.ts';
import { KeyLimits } from './key-limits.tsx';
import { FILL_TONES, fillOf } from '../../ui/charts/fill.ts';
import { windowName } from './window-name.ts';

export type KeyFills = ReadonlyMap<number, readonly KeyWindow[]>;

/** Reads how full the windows of these keys are. Only keys with limits are asked about, all in one request. */
export function useKeyFills(keys: readonly Key[]): KeyFills {
  const ids = keys
    .filter((key) => isLimited(key.limits_in_force) || key.rates.length > 0)
    .map(({ id }) => id)
    .toSorted((a, b) => a - b);
  const { data } = useQuery({
    ...keysWindowsQuery(ids),
    ...SLOWLY_LIVE,
    enabled: ids.length > 0,
  });
  return new Map((data ?? []).map(({ key_id: id, windows }) => [id, windows] as const));
}

/** Shows the limits of a key in a list, each with what is used of it now; the limits alone until that is known. */
export function KeyFill({ of: key, fills }: { of: Key; fills: KeyFills }) {
  const { words, locale } = useSpeech();
  const windows = (fills.get(key.id) ?? []).filter(({ limit }) => limit > 0);
  if (windows.length === 0) return <KeyLimits of={key} />;
  const count = (value: number): string => formatCount(value, locale);
  return (
    <ul className="flex w-32 flex-col gap-1">
      {windows.map((row) => {
        const { window, limit, used } = row;
        const name = windowName(row, words);
        const text = words.general.of(count(used), words.tables.limits[window].short(count(limit)));
        return (
          <li key={name} className="tabular text-tiny">
            {text}
            <Gauge
              part={used}
              whole={limit}
              tone={FILL_TONES[fillOf({ limit, used })]}
              label={`${key.name}: ${name}`}
              text={text}
            />
          </li>
        );
      })}
    </ul>
  );
}
