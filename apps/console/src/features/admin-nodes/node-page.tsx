import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { nodesQuery, nodeTablesQuery, type ProxyNode } from '../../api/fleet.ts';
import type { Shape } from '../../api/client.ts';
import { useLive } from '../../api/events/stream.ts';
import { paths } from '../../paths.ts';
import { CopyText } from '../../ui/copy.tsx';
import { Count } from '../../ui/figures.tsx';
import { formatDuration } from '../../ui/format.ts';
import { Facts, Page as Frame, Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Ago, Exact } from '../../ui/time/time.tsx';
import { useSpeech, useWords, type Words } from '../../words/words.ts';
import { useLags, useNewest } from './lag.ts';
import { NodeActs } from './node-acts.tsx';
import { NodeState } from './node-state.tsx';
import { NodeVersion } from './node-version.tsx';

export function Page() {
  const { admin } = useWords();
  const { nodes } = admin;
  const { name = '' } = useParams({ strict: false });
  const list = useQuery({ ...nodesQuery, ...useLive() });
  const node = list.data?.data.find((row) => row.name === name);
  const newest = useNewest(list.data?.data ?? []);
  if (node) return <NodePage of={node} newest={newest} />;
  return (
    <Frame title={name} parent={{ to: paths.adminNodes(), label: nodes.title }}>
      <Panel>
        <Loaded of={list}>{() => <EmptyState title={nodes.notFound} />}</Loaded>
      </Panel>
    </Frame>
  );
}

function NodePage({ of: node, newest }: { of: ProxyNode; newest: number }) {
  const { admin } = useWords();
  const { nodes } = admin;
  return (
    <Frame
      title={node.name}
      parent={{ to: paths.adminNodes(), label: nodes.title }}
      actions={<NodeActs of={node} />}
    >
      <Panel>
        <NodeFacts of={node} newest={newest} />
      </Panel>
      <NodeHealth of={node} newest={newest} />
      <Panel title={nodes.workers} isFlush>
        <WorkersTable of={node} />
      </Panel>
      <Panel title={nodes.tables} isFlush>
        <NodeTables of={node} />
      </Panel>
    </Frame>
  );
}

function NodeFacts({ of: node, newest }: { of: ProxyNode; newest: number }) {
  const { nodes } = useWords().admin;
  return (
    <Facts
      facts={[
        { name: nodes.state, value: <NodeState of={node} /> },
        { name: nodes.version, value: <NodeVersion version={node.version} newest={newest} /> },
        { name: nodes.streams, value: <Count count={node.in_flight} isWhole /> },
        { name: nodes.backlog, value: <Count count={node.unacknowledged} isWhole /> },
        {
          name: nodes.seen,
          value: node.last_seen_at === null ? '–' : <Ago at={node.last_seen_at} />,
        },
        ...(node.url === null
          ? []
          : [
              {
                name: nodes.address,
                value: <CopyText text={node.url} label={nodes.address} />,
                isWide: true,
              },
            ]),
      ]}
    />
  );
}

function NodeHealth({ of: node, newest }: { of: ProxyNode; newest: number }) {
  const lags = useLags()(node, newest);
  if (lags.length === 0) return null;
  return (
    <section className="flex flex-col gap-1 rounded-md border border-line bg-warn-soft px-4 py-3">
      {lags.map((reason) => (
        <p key={reason} className="foreign">
          {reason}
        </p>
      ))}
    </section>
  );
}

function WorkersTable({ of: { workers } }: { of: ProxyNode }) {
  const { admin } = useWords();
  const { nodes } = admin;
  return (
    <Table
      label={nodes.workers}
      columns={workerColumns(nodes)}
      rows={workers}
      rowId={({ worker }) => worker}
      empty={<EmptyState title={nodes.states.offline} />}
    />
  );
}

function workerColumns(nodes: Words['admin']['nodes']): Column<Shape<'Worker'>>[] {
  return [
    { id: 'worker', header: nodes.worker, cell: ({ worker }) => worker },
    { id: 'state', header: nodes.state, cell: (worker) => <NodeState of={worker} /> },
    {
      id: 'software',
      header: nodes.software,
      from: 'sm',
      cell: ({ software }) => <code className="foreign">{software}</code>,
    },
    {
      id: 'started',
      header: nodes.started,
      from: 'md',
      cell: ({ started_at: at }) => <Exact at={at} />,
    },
    {
      id: 'redis',
      header: nodes.redis,
      align: 'right',
      from: 'sm',
      cell: ({ redis_round_trip_ms: ms }) => <Milliseconds of={ms} />,
    },
    {
      id: 'clock',
      header: nodes.clock,
      align: 'right',
      from: 'sm',
      cell: ({ clock_ahead_ms: ms }) => <Milliseconds of={ms} />,
    },
    {
      id: 'streams',
      header: nodes.streams,
      align: 'right',
      cell: ({ in_flight: count }) => <Count count={count} isWhole />,
    },
  ];
}

/** Shows milliseconds, which are unknown before Redis' first answer. */
function Milliseconds({ of: ms }: { of: number | null }) {
  const { locale } = useSpeech();
  if (ms === null) return '–';
  return `${ms < 0 ? '-' : ''}${formatDuration(Math.abs(ms), locale)}`;
}

interface TableRow {
  id: string;
  table: string;
  worker: number;
  entries: number;
  limit: number | null;
}

function NodeTables({ of: node }: { of: ProxyNode }) {
  const { admin } = useWords();
  const { nodes } = admin;
  const found = useQuery({ ...nodeTablesQuery(node.id), enabled: node.state !== 'offline' });
  if (node.state === 'offline') return <EmptyState title={nodes.states.offline} />;
  const columns: Column<TableRow>[] = [
    { id: 'table', header: nodes.table, cell: ({ table }) => <code>{table}</code> },
    { id: 'worker', header: nodes.worker, align: 'right', cell: ({ worker }) => worker },
    {
      id: 'entries',
      header: nodes.entries,
      align: 'right',
      cell: ({ entries }) => <Count count={entries} isWhole />,
    },
    {
      id: 'limit',
      header: nodes.limit,
      align: 'right',
      cell: ({ limit }) => (limit === null ? '–' : <Count count={limit} isWhole />),
    },
  ];
  return (
    <Loaded of={found}>
      {({ nodes: workers }) => (
        <Table
          label={nodes.tables}
          columns={columns}
          rows={workers.flatMap(({ worker, tables }) =>
            tables.map((row) => ({ ...row, worker, id: `${worker} ${row.table}` })),
          )}
          rowId={({ id }) => id}
          empty={<EmptyState title={nodes.states.offline} />}
        />
      )}
    </Loaded>
  );
}
