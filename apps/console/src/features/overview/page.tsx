import { useQuery } from '@tanstack/react-query';
import { KeyRound, Wallet } from '../../ui/icons.tsx';
import { subscriptionsQuery } from '../../api/models.ts';
import { useMe } from '../../api/session.ts';
import { useLive } from '../../api/events/stream.ts';
import { statisticsQuery } from '../../api/usage.ts';
import { paths } from '../../paths.ts';
import { ButtonLink, TextLink } from '../../ui/forms/button.tsx';
import { Freshness } from '../../ui/time/freshness.tsx';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import { Loaded, Skeleton } from '../../ui/states.tsx';
import {
  TimeRangePicker,
  useRangeChange,
  useTimeRange,
  rangeOf,
} from '../../ui/time/time-range.tsx';
import { useWords } from '../../words/words.ts';
import { UsageChart } from '../usage/usage-chart.tsx';
import { Attention } from './attention.tsx';
import { FirstSteps, anyRequestQuery } from '../first-steps/first-steps.tsx';
import { LastErrors, failedQuery } from './last-errors.tsx';
import { OverviewTiles } from './tiles.tsx';
import { TokensLeft } from './tokens-left.tsx';
import { keysQuery } from '../../api/keys.ts';
import { burnRateQuery } from '../../api/previews.ts';
import { walletQuery } from '../../api/wallet.ts';
import { rangeBefore } from '../../api/range-bounds.ts';
import type { Prefetch } from '../../page-module.ts';

export const prefetch: Prefetch = (ask, { me: { id }, search }) => {
  const range = rangeOf(search);
  ask(statisticsQuery({ user_id: id, group_by: 'model' }, range));
  ask(statisticsQuery({ user_id: id }, rangeBefore(range)));
  ask(subscriptionsQuery(id));
  ask(walletQuery(id));
  ask(burnRateQuery(id));
  ask(keysQuery({ user_id: id }));
  ask(keysQuery({ user_id: id, status: 'enabled' }));
  ask(failedQuery(id, range));
  ask(anyRequestQuery(id));
};

export function Page() {
  const { overview } = useWords();
  const me = useMe();
  const live = useLive();
  const range = useTimeRange();
  const zoom = useRangeChange();
  const statistics = useQuery({
    ...statisticsQuery({ user_id: me.id, group_by: 'model' }, range),
    ...live,
  });
  const subscriptions = useQuery({ ...subscriptionsQuery(me.id), ...live });
  return (
    <Frame
      title={overview.title}
      purpose={overview.purpose}
      actions={<NextActs />}
      bar={<TimeRangePicker />}
    >
      <FirstSteps />
      <Attention subscriptions={subscriptions.data ?? []} />
      <OverviewTiles statistics={statistics} range={range} />
      <TokensLeft of={subscriptions} />
      <Panel
        title={overview.usageByModel}
        note={<Freshness of={statistics} />}
        actions={<TextLink to={paths.usage()}>{overview.allRequests}</TextLink>}
      >
        <Loaded of={statistics} skeleton={<Skeleton rows={8} className="h-[228px]" />}>
          {(found) => <UsageChart of={found} measure="charge" onZoom={zoom} />}
        </Loaded>
      </Panel>
      <LastErrors range={range} />
    </Frame>
  );
}

function NextActs() {
  const { overview } = useWords();
  return (
    <>
      <ButtonLink
        to={paths.wallet({ recharge: 1 })}
        icon={<Wallet aria-hidden className="size-4" />}
      >
        {overview.topUp}
      </ButtonLink>
      <ButtonLink
        to={paths.keys({ create: 1 })}
        look="primary"
        icon={<KeyRound aria-hidden className="size-4" />}
      >
        {overview.createKey}
      </ButtonLink>
    </>
  );
}
