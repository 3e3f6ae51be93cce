import { useQuery } from '@tanstack/react-query';
import { Plus, RefreshCw, Server } from '../../ui/icons.tsx';
import { useState } from 'react';
import { configCheckQuery, nodesQuery, type ProxyNode } from '../../api/fleet.ts';
import { useLive } from '../../api/events/stream.ts';
import { paths } from '../../paths.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, TextLink } from '../../ui/forms/button.tsx';
import { Count } from '../../ui/figures.tsx';
import { Freshness } from '../../ui/time/freshness.tsx';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Ago } from '../../ui/time/time.tsx';
import { useWords, type Words } from '../../words/words.ts';
import { AddNodeDialog } from './add-node.tsx';
import { useNewest } from './lag.ts';
import { NodeState } from './node-state.tsx';
import { NodeVersion } from './node-version.tsx';
import { SyncDialog } from './sync-dialog.tsx';
import type { Prefetch } from '../../page-module.ts';

export const prefetch: Prefetch = (ask) => {
  ask(nodesQuery);
  ask(configCheckQuery);
};

export function Page() {
  const { admin } = useWords();
  const { nodes } = admin;
  const [open, setOpen] = useState<'add' | 'sync'>();
  const list = useQuery({ ...nodesQuery, ...useLive() });
  return (
    <Frame
      title={nodes.title}
      purpose={nodes.purpose}
      actions={
        <>
          <Button icon={<Plus aria-hidden className="size-4" />} onClick={() => setOpen('add')}>
            {nodes.add}
          </Button>
          <Button
            look="primary"
            icon={<RefreshCw aria-hidden className="size-4" />}
            onClick={() => setOpen('sync')}
          >
            {nodes.sync}
          </Button>
        </>
      }
      bar={
        <span className="ml-auto">
          <Freshness of={list} />
        </span>
      }
    >
      <Panel isFlush>
        <Loaded of={list}>{({ data }) => <NodesTable rows={data} />}</Loaded>
      </Panel>
      <ConfigurationCheck />
      {open === 'sync' && <SyncDialog onClose={() => setOpen(undefined)} />}
      <AddNodeDialog isOpen={open === 'add'} onClose={() => setOpen(undefined)} />
    </Frame>
  );
}

function NodesTable({ rows }: { rows: readonly ProxyNode[] }) {
  const { admin } = useWords();
  const { nodes } = admin;
  const newest = useNewest(rows);
  return (
    <Table
      label={nodes.title}
      columns={columnsOf(nodes, newest)}
      rows={rows}
      rowId={({ id }) => id}
      rowTo={({ name }) => paths.adminNode(name)}
      empty={
        <EmptyState icon={<Server aria-hidden />} title={nodes.empty}>
          {nodes.emptyText}
        </EmptyState>
      }
    />
  );
}

function columnsOf(nodes: Words['admin']['nodes'], newest: number): Column<ProxyNode>[] {
  return [
    {
      id: 'name',
      header: nodes.name,
      cell: ({ name }) => (
        <TextLink to={paths.adminNode(name)} className="foreign">
          {name}
        </TextLink>
      ),
    },
    { id: 'state', header: nodes.state, cell: (node) => <NodeState of={node} /> },
    {
      id: 'version',
      header: nodes.version,
      cell: ({ version }) => <NodeVersion version={version} newest={newest} />,
    },
    {
      id: 'streams',
      header: nodes.streams,
      align: 'right',
      cell: ({ in_flight: count }) => <Count count={count} isWhole />,
    },
    {
      id: 'backlog',
      header: nodes.backlog,
      align: 'right',
      from: 'sm',
      cell: ({ unacknowledged: count }) => <Count count={count} isWhole />,
    },
    {
      id: 'seen',
      header: nodes.seen,
      from: 'md',
      cell: ({ last_seen_at: at }) => (at === null ? '–' : <Ago at={at} />),
    },
  ];
}

function ConfigurationCheck() {
  const { admin } = useWords();
  const { nodes, alerts } = admin;
  const check = useQuery(configCheckQuery);
  return (
    <Panel title={nodes.check}>
      <Loaded of={check}>
        {({ problems }) =>
          problems.length === 0 ? (
            <p className="text-text-2">{nodes.checkOk}</p>
          ) : (
            <ul className="flex flex-col gap-2">
              {problems.map(({ code, severity, subject, message }) => (
                <li key={`${code} ${subject.kind} ${subject.id}`} className="flex gap-2">
                  <Badge tone={severity === 'error' ? 'bad' : 'warn'}>
                    {severity === 'error' ? alerts.severities.critical : alerts.severities.warning}
                  </Badge>
                  <span className="foreign min-w-0">{message}</span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Panel>
  );
}
