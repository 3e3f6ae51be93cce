import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import {
  deleteUpstream,
  routesQuery,
  updateUpstream,
  upstreamQuery,
  type Upstream,
} from '../../api/upstreams.ts';
import { requestsQuery, statisticsQuery } from '../../api/usage.ts';
import { paths } from '../../paths.ts';
import { useAct } from '../../ui/act.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { CopyText } from '../../ui/copy.tsx';
import { Duration } from '../../ui/figures.tsx';
import { formatCount } from '../../ui/format.ts';
import { Facts, Page as Frame, Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded, Skeleton } from '../../ui/states.tsx';
import { TimeRangePicker, useRangeChange, useTimeRange } from '../../ui/time-range.tsx';
import { useSpeech, useWords } from '../../words/words.ts';
import { RoutesTable } from '../admin-routing/routes-table.tsx';
import { RequestsTable } from '../usage/requests-table.tsx';
import { UsageChart } from '../usage/usage-chart.tsx';
import { UpstreamState } from './page.tsx';
import { TestDialog, UpstreamDialog } from './upstream-dialogs.tsx';

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

type Open = 'edit' | 'test' | 'delete' | undefined;

function UpstreamPage({ of: upstream }: { of: Upstream }) {
  const { words, locale } = useSpeech();
  const { upstreams } = words.admin;
  const navigate = useNavigate();
  const [open, setOpen] = useState<Open>();
  const close = (): void => setOpen(undefined);
  const { data: routes } = useQuery(routesQuery);
  const count = routes?.data.filter(({ upstream_id: id }) => id === upstream.id).length ?? 0;
  const toggle = useAct({
    act: () => updateUpstream(upstream.id, { enabled: !upstream.enabled }),
    done: () => upstreams.saved,
  });
  return (
    <Frame
      title={upstream.name}
      parent={{ to: paths.adminUpstreams(), label: upstreams.title }}
      actions={
        <>
          <Button look="primary" onClick={() => setOpen('test')}>
            {upstreams.test}
          </Button>
          <Button isBusy={toggle.isBusy} onClick={() => toggle.run(undefined)}>
            {upstream.enabled ? upstreams.disable : upstreams.enable}
          </Button>
          <Button onClick={() => setOpen('edit')}>{upstreams.edit}</Button>
          <Button look="danger" onClick={() => setOpen('delete')}>
            {upstreams.remove}
          </Button>
        </>
      }
      bar={<TimeRangePicker />}
    >
      <UpstreamFacts of={upstream} />
      <UpstreamUsage id={upstream.id} />
      <Panel title={upstreams.routes} isFlush>
        <RoutesTable upstreamId={upstream.id} empty={words.admin.routing.empty} />
      </Panel>
      <UpstreamDialog of={upstream} isOpen={open === 'edit'} onClose={close} />
      <TestDialog of={upstream} isOpen={open === 'test'} onClose={close} />
      <ConfirmDialog
        title={`${upstreams.remove}: ${upstream.name}`}
        text={upstreams.removeText(formatCount(count, locale))}
        verb={upstreams.remove}
        isOpen={open === 'delete'}
        onClose={close}
        act={() => deleteUpstream(upstream.id)}
        done={() => upstreams.removed(upstream.name)}
        onDone={() => void navigate({ to: paths.adminUpstreams() })}
      />
    </Frame>
  );
}

function UpstreamFacts({ of: upstream }: { of: Upstream }) {
  const { admin } = useWords();
  const { upstreams } = admin;
  return (
    <Panel>
      <Facts
        facts={[
          { name: upstreams.status, value: <UpstreamState of={upstream} /> },
          { name: upstreams.protocol, value: upstreams.protocols[upstream.protocol] },
          {
            name: upstreams.baseUrl,
            value: <CopyText text={upstream.base_url} label={upstreams.baseUrl} />,
          },
          { name: upstreams.key, value: upstream.has_api_key ? upstreams.hasKey : upstreams.noKey },
          { name: upstreams.connect, value: <Duration ms={upstream.connect_timeout_ms} /> },
          { name: upstreams.firstToken, value: <Duration ms={upstream.first_token_timeout_ms} /> },
          { name: upstreams.idle, value: <Duration ms={upstream.idle_timeout_ms} /> },
          { name: upstreams.total, value: <Duration ms={upstream.total_timeout_ms} /> },
        ]}
      />
    </Panel>
  );
}

function UpstreamUsage({ id }: { id: number }) {
  const { admin, usage } = useWords();
  const range = useTimeRange();
  const zoom = useRangeChange();
  const statistics = useQuery(statisticsQuery({ upstream_id: id, group_by: 'model' }, range));
  const failed = useQuery(requestsQuery({ upstream_id: id, page_size: 10 }, range));
  return (
    <>
      <Panel title={admin.upstreams.usage}>
        <Loaded of={statistics} skeleton={<Skeleton rows={8} className="h-[228px]" />}>
          {(found) => <UsageChart of={found} measure="requests" onZoom={zoom} />}
        </Loaded>
      </Panel>
      <Panel title={admin.overview.newest} isFlush>
        <Loaded of={failed}>
          {({ data }) => (
            <RequestsTable
              rows={data}
              show={['user', 'node']}
              empty={<EmptyState title={usage.emptyChart} />}
            />
          )}
        </Loaded>
      </Panel>
    </>
  );
}
