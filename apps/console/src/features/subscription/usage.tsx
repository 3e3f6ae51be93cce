import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import type { MyModel } from '../../api/models.ts';
import { useLive } from '../../api/events/stream.ts';
import { lotsQuery } from '../../api/subscription-history.ts';
import { statisticsQuery, type UsageStatistics } from '../../api/usage.ts';
import { Chart } from '../../ui/charts/chart.tsx';
import { formatShort } from '../../ui/format.ts';
import { Freshness } from '../../ui/time/freshness.tsx';
import { Panel } from '../../ui/page.tsx';
import { Segments } from '../../ui/tables/segments.tsx';
import { Loaded } from '../../ui/states.tsx';
import { TimeRangePicker, useRangeChange, useTimeRange } from '../../ui/time/time-range.tsx';
import { useSpeech, useWords } from '../../words/words.ts';
import { UsageChart } from '../usage/usage-chart.tsx';
import { balanceCourse } from './balance-course.ts';

type Shown = 'used' | 'left';

/** Shows what was used in each interval, or what was left after it. */
export function SubscriptionUsage({ of: row }: { of: MyModel }) {
  const { subscription } = useWords();
  const range = useTimeRange();
  const zoom = useRangeChange();
  const [shown, setShown] = useState<Shown>('used');
  const statistics = useQuery({
    ...statisticsQuery({ user_id: row.user_id, model_id: row.model_id, group_by: 'key' }, range),
    ...useLive(),
  });
  return (
    <Panel
      title={shown === 'used' ? subscription.used : subscription.left}
      note={<Freshness of={statistics} />}
      actions={
        <>
          <Segments
            label={subscription.shown}
            value={shown}
            options={[
              { value: 'used', label: subscription.used },
              { value: 'left', label: subscription.left },
            ]}
            onChange={setShown}
          />
          <TimeRangePicker />
        </>
      }
    >
      <Loaded of={statistics}>
        {(found) =>
          shown === 'used' ? (
            <UsageChart of={found} measure="charge" onZoom={zoom} />
          ) : (
            <BurnDown of={row} statistics={found} onZoom={zoom} />
          )
        }
      </Loaded>
    </Panel>
  );
}

interface BurnDownProps {
  of: MyModel;
  statistics: UsageStatistics;
  onZoom: (from: number, to: number) => void;
}

function BurnDown({ of: row, statistics, onZoom }: BurnDownProps) {
  const { words, locale } = useSpeech();
  const lots = useQuery(lotsQuery(row.id));
  return (
    <Loaded of={lots}>
      {({ data, next_cursor: next }) => (
        <BurnDownChart
          label={words.subscription.left}
          statistics={statistics}
          tokens={row.tokens}
          bought={data}
          from={Date.parse(next === null ? row.created_at : (data.at(-1) ?? row).created_at)}
          format={(value) => formatShort(value, locale)}
          onZoom={onZoom}
        />
      )}
    </Loaded>
  );
}

function BurnDownChart({
  label,
  statistics,
  tokens,
  bought,
  from,
  format,
  onZoom,
}: Parameters<typeof balanceCourse>[1] &
  Pick<BurnDownProps, 'statistics' | 'onZoom'> & {
    label: string;
    format: (value: number) => string;
  }) {
  const { times, values } = useMemo(
    () => balanceCourse(statistics, { tokens, bought, from }),
    [statistics, tokens, bought, from],
  );
  return (
    <Chart
      label={label}
      kind="lines"
      times={times}
      series={[{ name: label, color: 0, values }]}
      format={format}
      onZoom={onZoom}
    />
  );
}
