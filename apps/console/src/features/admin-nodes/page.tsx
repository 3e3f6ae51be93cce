import { useQuery } from '@tanstack/react-query';
import { Plus, RefreshCw, Server } from '../../ui/icons.tsx';
import { useState } from 'react';
import type { Shape } from '../../api/client.ts';
import { configCheckQuery, nodesQuery, type ProxyNode } from '../../api/fleet.ts';
import { useLive } from '../../api/events/stream.ts';
import { paths } from '../../paths.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, TextLink } from '../../ui/forms/button.tsx';
import { Count } from '../../ui/figures.tsx';
import { Freshness } from '../../ui/time/freshness.tsx';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { FoldedTable } from '../../ui/tables/folded-table.tsx';
import { Parts } from '../../ui/tables/parts.tsx';
import { SearchBox } from '../../ui/tables/search-box.tsx';
import { useSearchState, withDefault, z } from '../../ui/tables/search-state.ts';
import type { Column } from '../../ui/tables/table.tsx';
import { Ago } from '../../ui/time/time.tsx';
import { useWords, type Words } from '../../words/words.ts';
import { AddNodeDialog } from './add-node.tsx';
import { useNewest } from './lag.ts';
import { NodeState } from './node-state.tsx';
import { NodeVersion } from './node-version.tsx';
import { SyncDialog } from './sync-dialog.tsx';
import type { Prefetch } from '../../page-module.ts';

const search = z.object({ q: withDefault(z.string(), '') });
/** A part has this many findings. */
const PART = 10;

export const prefetch: Prefetch = (ask) => {
  ask(nodesQuery);
  ask(configCheckQuery);
};

export function Page() {
  const { admin } = useWords();
  const { nodes } = admin;
  const [{ q }, change] = useSearchState(search);
  const [open, setOpen] = useState<'add' | 'sync'>();
  const list = useQuery({ ...nodesQuery, ...useLive() });
  return (
    <Frame
      title={nodes.title}
      purpose={nodes.purpose}
      actions={<Acts onOpen={setOpen} />}
      bar={
        <>
          <SearchBox label={nodes.search} value={q} onSearch={(text) => change({ q: text })} />
          <span className="ml-auto">
            <Freshness of={list} />
          </span>
        </>
      }
    >
      <Panel isFlush>
        <Loaded of={list}>
          {({ data }) => <NodesTable of={data} q={q.trim().toLowerCase()} />}
        </Loaded>
      </Panel>
      <ConfigurationCheck />
      {open === 'sync' && <SyncDialog onClose={() => setOpen(undefined)} />}
      <AddNodeDialog isOpen={open === 'add'} onClose={() => setOpen(undefined)} />
    </Frame>
  );
}

function Acts({ onOpen }: { onOpen: (what: 'add' | 'sync') => void }) {
  const { nodes } = useWords().admin;
  return (
    <>
      <Button icon={<Plus aria-hidden className="size-4" />} onClick={() => onOpen('add')}>
        {nodes.add}
      </Button>
      <Button
        look="primary"
        icon={<RefreshCw aria-hidden className="size-4" />}
        onClick={() => onOpen('sync')}
      >
        {nodes.sync}
      </Button>
    </>
  );
}

function NodesTable({ of: all, q }: { of: readonly ProxyNode[]; q: string }) {
  const { nodes } = useWords().admin;
  const newest = useNewest(all);
  const rows = all.filter(({ name }) => name.toLowerCase().includes(q));
  return (
    <FoldedTable
      label={nodes.title}
      columns={columnsOf(nodes, newest)}
      rows={rows.toSorted(byState)}
      rowId={({ id }) => id}
      rowTo={({ name }) => paths.adminNode(name)}
      empty={<NoNodes isFiltered={q !== ''} />}
      groupOf={q === '' ? ({ state }) => state : undefined}
      head={({ rows: [first] }) => first && <NodeState of={first} />}
    />
  );
}

const STATES: readonly ProxyNode['state'][] = [
  'offline',
  'draining',
  'stopped',
  'disabled',
  'online',
];

/** Sorts nodes that need a look first. */
function byState(one: ProxyNode, other: ProxyNode): number {
  return STATES.indexOf(one.state) - STATES.indexOf(other.state);
}

function NoNodes({ isFiltered }: { isFiltered: boolean }) {
  const { nodes } = useWords().admin;
  if (isFiltered) return <EmptyState title={nodes.noMatch} />;
  return (
    <EmptyState icon={<Server aria-hidden />} title={nodes.empty}>
      {nodes.emptyText}
    </EmptyState>
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
  const { nodes } = admin;
  const check = useQuery(configCheckQuery);
  return (
    <Panel title={nodes.check}>
      <Loaded of={check}>
        {({ problems }) =>
          problems.length === 0 ? (
            <p className="text-text-2">{nodes.checkOk}</p>
          ) : (
            <Parts of={problems} size={PART}>
              {(part) => <Problems of={part} />}
            </Parts>
          )
        }
      </Loaded>
    </Panel>
  );
}

function Problems({ of: problems }: { of: Readonly<Shape<'ConfigCheck'>['problems']> }) {
  const { alerts } = useWords().admin;
  return (
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
  );
}
