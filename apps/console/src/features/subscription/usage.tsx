import { useQuery } from '@tanstack/react-query';
import type { MyModel } from '../../api/models.ts';
import { useLive } from '../../api/stream.ts';
import { statisticsQuery } from '../../api/usage.ts';
import { Freshness } from '../../ui/freshness.tsx';
import { Panel } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { TimeRangePicker, useRangeChange, useTimeRange } from '../../ui/time-range.tsx';
import { useWords } from '../../words/words.ts';
import { UsageChart } from '../usage/usage-chart.tsx';

export function SubscriptionUsage({ of: row }: { of: MyModel }) {
  const { subscription } = useWords();
  const range = useTimeRange();
  const zoom = useRangeChange();
  const statistics = useQuery({
    ...statisticsQuery({ user_id: row.user_id, model_id: row.model_id, group_by: 'key' }, range),
    ...useLive(),
  });
  return (
    <Panel
      title={subscription.burnDown}
      note={<Freshness of={statistics} />}
      actions={<TimeRangePicker />}
    >
      <Loaded of={statistics}>
        {(found) => <UsageChart of={found} measure="charge" onZoom={zoom} />}
      </Loaded>
    </Panel>
  );
}
