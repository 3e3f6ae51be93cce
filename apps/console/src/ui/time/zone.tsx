import { createContext, use, useMemo, useState, type ReactNode } from 'react';
import { recall, remember } from '../../browser/preferences.ts';

export type Zone = 'local' | 'utc';

interface ZoneChoice {
  zone: Zone;
  choose: (zone: Zone) => void;
}

const ZoneContext = createContext<ZoneChoice>({ zone: 'local', choose: () => {} });

/** Switches all times between those of the reader and UTC. */
export function ZoneProvider({ children }: { children: ReactNode }) {
  const [zone, setZone] = useState<Zone>(recall('zone') === 'utc' ? 'utc' : 'local');
  const choice = useMemo(
    () => ({
      zone,
      choose: (next: Zone) => {
        remember('zone', next);
        setZone(next);
      },
    }),
    [zone],
  );
  return <ZoneContext value={choice}>{children}</ZoneContext>;
}

export function useZone(): ZoneChoice {
  return use(ZoneContext);
}
