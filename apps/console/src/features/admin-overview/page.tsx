import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { dashboardQuery, installationStepsQuery } from '../../api/admin.ts';
import type { Shape } from '../../api/client.ts';
import { useLive } from '../../api/events/stream.ts';
import { requestsQuery, statisticsQuery } from '../../api/usage.ts';
import { paths } from '../../paths.ts';
import { ButtonLink, TextLink } from '../../ui/forms/button.tsx';
import { Count, Money } from '../../ui/figures.tsx';
import {
  formatCount,
  formatDuration,
  formatMoney,
  formatPercent,
  formatShort,
} from '../../ui/format.ts';
import { Freshness } from '../../ui/time/freshness.tsx';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import { Sparkline } from '../../ui/charts/sparkline.tsx';
import { EmptyState, Loaded, Skeleton } from '../../ui/states.tsx';
import { Tile, Tiles, TilesSkeleton } from '../../ui/tile.tsx';
import {
  TimeRangePicker,
  useRangeChange,
  useTimeRange,
  rangeOf,
} from '../../ui/time/time-range.tsx';
import { useSpeech, useWords } from '../../words/words.ts';
import { AlertsTable } from '../admin-alerts/page.tsx';
import { RequestsTable } from '../usage/requests-table.tsx';
import { UsageChart } from '../usage/usage-chart.tsx';
import { InstallationSteps } from './installation-steps.tsx';
import type { Prefetch } from '../../page-module.ts';

type Dashboard = Shape<'Dashboard'>;

const newestQuery = requestsQuery({ page_size: 10 }, { name: '24h', interval: 'hour' });

export const prefetch: Prefetch = (ask, { search }) => {
  ask(dashboardQuery);
  ask(statisticsQuery({ group_by: 'model' }, rangeOf(search)));
  ask(newestQuery);
  ask(installationStepsQuery);
};

export function Page() {
  const { overview } = useWords().admin;
  const live = useLive();
  const range = useTimeRange();
  const zoom = useRangeChange();
  const dashboard = useQuery({ ...dashboardQuery, ...live });
  const statistics = useQuery({ ...statisticsQuery({ group_by: 'model' }, range), ...live });
  return (
    <Frame title={overview.title} purpose={overview.purpose}>
      <InstallationSteps />
      <PendingUsers count={dashboard.data?.users.pending ?? 0} />
      <Loaded of={dashboard} skeleton={<TilesSkeleton />}>
        {(found) => <DashboardTiles of={found} />}
      </Loaded>
      <Panel
        title={overview.traffic}
        note={<Freshness of={statistics} />}
        actions={<TimeRangePicker />}
      >
        <Loaded of={statistics} skeleton={<Skeleton rows={8} className="h-[228px]" />}>
          {(found) => <UsageChart of={found} measure="requests" onZoom={zoom} />}
        </Loaded>
      </Panel>
      <OpenAlerts of={dashboard} />
      <NewestRequests />
    </Frame>
  );
}

function PendingUsers({ count }: { count: number }) {
  const { words, locale } = useSpeech();
  const { overview } = words.admin;
  if (count === 0) return null;
  return (
    <Panel>
      <div className="flex flex-wrap items-center gap-3">
        <p className="min-w-0 flex-1 font-medium">
          {overview.pendingUsers(formatCount(count, locale))}
        </p>
        <ButtonLink to={paths.adminUsers({ status: 'pending' })} look="primary" size="small">
          {overview.review}
        </ButtonLink>
      </div>
    </Panel>
  );
}

function DashboardTiles({ of: dashboard }: { of: Dashboard }) {
  const { today, money, nodes, snapshot, hours, booking_lag_ms: lag } = dashboard;
  const { words, locale } = useSpeech();
  const { overview } = words.admin;
  return (
    <Tiles>
      <RequestsTile of={dashboard} />
      <Tile
        label={overview.tokens}
        figure={<Count count={today.charge} />}
        note={overview.inputOutput(
          formatShort(today.input_tokens, locale),
          formatShort(today.output_tokens, locale),
        )}
      >
        <Sparkline values={hours.map(({ charge }) => charge)} />
      </Tile>
      <Tile
        label={overview.revenue}
        figure={<Money amount={money.revenue} currency={money.currency} />}
        note={overview.wallets(formatMoney(money.wallets, { currency: money.currency, locale }))}
      />
      <Tile
        label={overview.fleet}
        figure={`${formatCount(nodes.online, locale)} / ${formatCount(nodes.total, locale)}`}
        note={
          (snapshot.version === null
            ? overview.unpublished
            : overview.version(formatCount(snapshot.version, locale))) +
          (lag === null ? '' : ` · ${overview.lag(durationText(lag, locale))}`)
        }
      />
    </Tiles>
  );
}

function RequestsTile({ of: { today, hours } }: { of: Dashboard }) {
  const { words, locale } = useSpeech();
  const { overview } = words.admin;
  const share = today.requests === 0 ? 0 : today.errors / today.requests;
  return (
    <Tile
      label={overview.requests}
      figure={<Count count={today.requests} />}
      note={`${overview.errorShare(formatPercent(share, locale))} · ${overview.latency(
        durationText(today.duration_p95_ms, locale),
        durationText(today.first_token_p95_ms, locale),
      )}`}
    >
      <Sparkline values={hours.map(({ requests }) => requests)} />
    </Tile>
  );
}

function durationText(ms: number | null, locale: string): string {
  return ms === null ? '–' : formatDuration(ms, locale);
}

function OpenAlerts({ of: dashboard }: { of: UseQueryResult<Dashboard> }) {
  const { admin } = useWords();
  const { overview } = admin;
  return (
    <Panel
      title={overview.openAlerts}
      isFlush
      actions={<TextLink to={paths.adminAlerts()}>{overview.allAlerts}</TextLink>}
    >
      <Loaded of={dashboard}>
        {({ alerts }) => (
          <AlertsTable
            rows={alerts.newest.filter(({ status }) => status === 'open')}
            empty={<EmptyState title={overview.noAlerts} />}
          />
        )}
      </Loaded>
    </Panel>
  );
}

function NewestRequests() {
  const { admin } = useWords();
  const { overview } = admin;
  const found = useQuery({
    ...newestQuery,
    ...useLive(),
  });
  return (
    <Panel
      title={overview.newest}
      isFlush
      actions={<TextLink to={paths.adminUsage()}>{overview.allRequests}</TextLink>}
    >
      <Loaded of={found}>
        {({ data }) => (
          <RequestsTable
            rows={data}
            show={['user', 'upstream', 'node']}
            empty={<EmptyState title={overview.noTraffic} />}
          />
        )}
      </Loaded>
    </Panel>
  );
}
