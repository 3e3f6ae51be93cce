import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { Ellipsis } from '../../ui/icons.tsx';
import { lazy, Suspense, useState } from 'react';
import {
  updateUpstream,
  upstreamQuery,
  type Upstream,
  type UpstreamDetail,
} from '../../api/upstreams.ts';
import { requestsQuery, statisticsQuery } from '../../api/usage.ts';
import { paths } from '../../paths.ts';
import { useAct } from '../../ui/forms/act.ts';
import { Button, TextLink } from '../../ui/forms/button.tsx';
import { CopyText } from '../../ui/copy.tsx';
import { Duration } from '../../ui/figures.tsx';
import { Menu } from '../../ui/menu.tsx';
import { Facts, Page as Frame, Panel } from '../../ui/page.tsx';
import { OnceOpened } from '../../ui/once-opened.tsx';
import { useSearchState, withDefault, z } from '../../ui/tables/search-state.ts';
import { Segments } from '../../ui/tables/segments.tsx';
import { EmptyState, Loaded, Skeleton } from '../../ui/states.tsx';
import { TimeRangePicker, useRangeChange, useTimeRange } from '../../ui/time/time-range.tsx';
import { useSpeech, useWords } from '../../words/words.ts';
import { RoutesTable } from '../admin-routing/routes-table.tsx';
import { useShownRoutes } from '../admin-routing/use-shown-routes.ts';
import { isLatency, UsageChart } from '../usage/usage-chart.tsx';
import { UpstreamCredentials } from './upstream-credentials.tsx';
import { UpstreamHealth } from './upstream-health.tsx';
import { MANY_WORDS } from './many-words.ts';
import type { OpenDialog } from './upstream-page-dialogs.tsx';
import { UpstreamState } from './upstream-state.tsx';

export function Page() {
  const { admin } = useWords();
  const { id = '' } = useParams({ strict: false });
  const found = useQuery(upstreamQuery(Number(id)));
  if (found.data) return <UpstreamPage of={found.data} />;
  return (
    <Frame
      title={admin.routing.upstream}
      parent={{ to: paths.adminUpstreams(), label: admin.upstreams.title }}
    >
      <Panel>
        <Loaded of={found}>{() => null}</Loaded>
      </Panel>
    </Frame>
  );
}

const SHOWN = ['requests', 'errors', 'duration_ms', 'first_token_ms'] as const;
const search = z.object({ show: withDefault(z.enum(SHOWN), 'requests') });

const RequestsTable = lazy(async () => ({
  default: (await import('../usage/requests-table.tsx')).RequestsTable,
}));
const UpstreamDialogs = lazy(async () => ({
  default: (await import('./upstream-page-dialogs.tsx')).UpstreamDialogs,
}));

function UpstreamPage({ of: upstream }: { of: UpstreamDetail }) {
  const { upstreams } = useWords().admin;
  const [open, setOpen] = useState<OpenDialog>();
  return (
    <Frame
      title={upstream.name}
      parent={{ to: paths.adminUpstreams(), label: upstreams.title }}
      actions={
        <>
          <Button look="primary" onClick={() => setOpen('test')}>
            {upstreams.test}
          </Button>
          <UpstreamMenu of={upstream} open={setOpen} />
        </>
      }
      bar={<TimeRangePicker />}
    >
      <UpstreamFacts of={upstream} />
      <UpstreamCredentials of={upstream} />
      <UpstreamHealth id={upstream.id} />
      <UpstreamUsage id={upstream.id} />
      <LastFailures id={upstream.id} />
      <Panel title={upstreams.routes} isFlush>
        <UpstreamRoutes id={upstream.id} />
      </Panel>
      <OnceOpened isOpen={open !== undefined}>
        <UpstreamDialogs of={upstream} open={open} onClose={() => setOpen(undefined)} />
      </OnceOpened>
    </Frame>
  );
}

function UpstreamMenu({ of: upstream, open }: { of: Upstream; open: (what: OpenDialog) => void }) {
  const { words, language } = useSpeech();
  const { upstreams } = words.admin;
  const toggle = useAct({
    act: () => updateUpstream(upstream.id, { enabled: !upstream.enabled }),
    done: () => upstreams.saved,
  });
  return (
    <Menu
      trigger={
        <Button icon={<Ellipsis aria-hidden className="size-4" />}>{words.general.more}</Button>
      }
      acts={[
        { label: MANY_WORDS[language].add, onAct: () => open('models') },
        { label: upstreams.edit, onAct: () => open('edit') },
        { label: upstreams.rotateKey, onAct: () => open('key') },
        {
          label: upstream.enabled ? upstreams.disable : upstreams.enable,
          onAct: () => toggle.run(undefined),
        },
        { label: upstreams.remove, isDanger: true, onAct: () => open('delete') },
      ]}
    />
  );
}

function UpstreamFacts({ of: upstream }: { of: Upstream }) {
  const { admin, general, tables } = useWords();
  const { upstreams } = admin;
  return (
    <Panel>
      <Facts
        facts={[
          { name: upstreams.status, value: <UpstreamState of={upstream} /> },
          { name: upstreams.protocol, value: tables.providers[upstream.protocol] },
          {
            name: upstreams.baseUrl,
            value: <CopyText text={upstream.base_url} label={upstreams.baseUrl} />,
            isWide: true,
          },
          { name: upstreams.key, value: upstream.has_api_key ? upstreams.hasKey : upstreams.noKey },
          {
            name: upstreams.passesFileIds,
            value: upstream.passes_file_ids ? general.yes : general.no,
          },
          { name: upstreams.fields, value: upstreams.fieldsBy[upstream.fields] },
          { name: upstreams.connect, value: <Duration ms={upstream.connect_timeout_ms} /> },
          { name: upstreams.firstToken, value: <Duration ms={upstream.first_token_timeout_ms} /> },
          { name: upstreams.idle, value: <Duration ms={upstream.idle_timeout_ms} /> },
          { name: upstreams.total, value: <Duration ms={upstream.total_timeout_ms} /> },
        ]}
      />
    </Panel>
  );
}

function UpstreamRoutes({ id }: { id: number }) {
  const { routing } = useWords().admin;
  const routes = useShownRoutes({ upstreamId: id });
  return <RoutesTable of={routes} shared="upstream" empty={routing.empty} />;
}

/** Shows the requests of the range by model. */
function UpstreamUsage({ id }: { id: number }) {
  const { admin, usage } = useWords();
  const { upstreams } = admin;
  const range = useTimeRange();
  const zoom = useRangeChange();
  const [{ show }, change] = useSearchState(search);
  const statistics = useQuery(
    statisticsQuery({ upstream_id: id, group_by: isLatency(show) ? undefined : 'model' }, range),
  );
  return (
    <>
      <Panel
        title={upstreams.usage}
        actions={
          <Segments
            label={usage.measure}
            value={show}
            onChange={(value) => change({ show: value })}
            options={SHOWN.map((value) => ({ value, label: usage.measures[value] }))}
          />
        }
      >
        <Loaded of={statistics} skeleton={<Skeleton rows={8} className="h-[228px]" />}>
          {(found) => <UsageChart of={found} measure={show} onZoom={zoom} />}
        </Loaded>
      </Panel>
    </>
  );
}

/** Lists the last requests of the range that failed here. */
function LastFailures({ id }: { id: number }) {
  const { admin } = useWords();
  const { upstreams } = admin;
  const range = useTimeRange();
  const failed = useQuery(
    requestsQuery({ upstream_id: id, outcome: 'upstream_failed', page_size: 10 }, range),
  );
  return (
    <Panel
      title={upstreams.lastFailures}
      isFlush
      actions={
        <TextLink to={paths.adminUsage({ upstream_id: id })}>{admin.overview.allRequests}</TextLink>
      }
    >
      <Loaded of={failed}>
        {({ data }) => (
          <Suspense fallback={null}>
            <RequestsTable
              rows={data}
              show={['user', 'node']}
              empty={<EmptyState title={upstreams.noFailures} />}
            />
          </Suspense>
        )}
      </Loaded>
    </Panel>
  );
}
