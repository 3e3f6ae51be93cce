import { useQuery } from '@tanstack/react-query';
import { keyWindowsQuery, type Key } from '../../api/keys.ts';
import { SLOWLY_LIVE } from '../../api/live.ts';
import { formatCount } from '../../ui/format.ts';
import { Gauge } from '../../ui/charts/gauge.tsx';
import { Panel } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { useSpeech } from '../../words/words.ts';
import { FILL_TONES, fillOf } from '../../ui/charts/fill.ts';
import { windowName } from './window-name.ts';

/** Shows each limit of a key with its present fill; nothing for a key without limits. */
export function KeyWindows({ of: key }: { of: Key }) {
  const { words, locale } = useSpeech();
  const { keys, general } = words;
  const windows = useQuery({ ...keyWindowsQuery(key.id), ...SLOWLY_LIVE });
  if (windows.data && !windows.data.windows.some(({ limit }) => limit > 0)) return null;
  const count = (value: number): string => formatCount(value, locale);
  return (
    <Panel title={keys.windowFill}>
      <Loaded of={windows}>
        {({ windows: rows }) => (
          <ul className="grid grid-cols-[repeat(auto-fill,minmax(min(240px,100%),1fr))] gap-x-8 gap-y-4">
            {rows
              .filter(({ limit }) => limit > 0)
              .map((row) => ({ ...row, name: windowName(row, words) }))
              .map(({ name, limit, used }) => (
                <li key={name} className="flex flex-col gap-1.5">
                  <p className="flex justify-between gap-3">
                    <span className="text-text-2">{name}</span>
                    <span className="tabular">{general.of(count(used), count(limit))}</span>
                  </p>
                  <Gauge
                    part={used}
                    whole={limit}
                    tone={FILL_TONES[fillOf({ limit, used })]}
                    label={name}
                    text={general.of(count(used), count(limit))}
                  />
                </li>
              ))}
          </ul>
        )}
      </Loaded>
    </Panel>
  );
}
