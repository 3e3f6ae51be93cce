import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import type { Key } from '../../api/keys.ts';
import { useLive } from '../../api/events/stream.ts';
import { statisticsQuery } from '../../api/usage.ts';
import { Freshness } from '../../ui/time/freshness.tsx';
import { Panel } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { TimeRangePicker, useRangeChange, useTimeRange } from '../../ui/time/time-range.tsx';
import { useWords } from '../../words/words.ts';
import { UsageChart } from '../usage/usage-chart.tsx';

/** Loads the list below the chart after the page. */
const RequestsPanel = lazy(async () => ({
  default: (await import('../usage/requests-panel.tsx')).RequestsPanel,
}));

/** Shows what one key did: tokens by model, and its requests. */
export function KeyUsage({
  of: key,
  cursor,
  onCursor,
}: {
  of: Key;
  cursor: string | undefined;
  onCursor: (cursor: string | undefined) => void;
}) {
  const { usage } = useWords();
  const range = useTimeRange();
  const zoom = useRangeChange();
  const filter = { user_id: key.user_id, key_id: key.id };
  const statistics = useQuery({
    ...statisticsQuery({ ...filter, group_by: 'model' }, range),
    ...useLive(),
  });
  return (
    <>
      <div className="flex">
        <TimeRangePicker />
      </div>
      <Panel title={usage.measures.charge} note={<Freshness of={statistics} />}>
        <Loaded of={statistics}>
          {(found) => <UsageChart of={found} measure="charge" onZoom={zoom} />}
        </Loaded>
      </Panel>
      <Suspense fallback={null}>
        <RequestsPanel
          filter={filter}
          range={range}
          cursor={cursor}
          onCursor={onCursor}
          show={[]}
        />
      </Suspense>
    </>
  );
}
