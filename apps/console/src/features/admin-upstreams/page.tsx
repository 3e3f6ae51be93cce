import { useQuery } from '@tanstack/react-query';
import { Plug, Plus } from '../../ui/icons.tsx';
import { lazy, useState } from 'react';
import {
  presetsQuery,
  upstreamsQuery,
  type Upstream,
  routesQuery,
  routingHealthQuery,
} from '../../api/upstreams.ts';
import { installationStepsQuery } from '../../api/admin.ts';
import { paths } from '../../paths.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, TextLink } from '../../ui/forms/button.tsx';
import { Count, Duration } from '../../ui/figures.tsx';
import { formatCount, formatPercent } from '../../ui/format.ts';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import { SearchBox } from '../../ui/tables/search-box.tsx';
import { optional, useSearchState, withDefault, z } from '../../ui/tables/search-state.ts';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { FoldedTable } from '../../ui/tables/folded-table.tsx';
import type { Column } from '../../ui/tables/table.tsx';
import { useSpeech, useWords, type Speech } from '../../words/words.ts';
import { OnceOpened } from '../../ui/once-opened.tsx';
import { MANY_WORDS } from './many-words.ts';
import { useUpstreamFares, type UpstreamFares } from './use-upstream-fares.ts';
import { UpstreamState } from './upstream-state.tsx';
import { TestDialog } from './upstream-dialogs.tsx';
import { NewUpstreamDialog } from './upstream-form.tsx';
import { nodesQuery } from '../../api/fleet.ts';
import { NextInstallationStep } from '../admin-overview/installation-steps.tsx';
import type { Prefetch } from '../../page-module.ts';

const search = z.object({ q: withDefault(z.string(), ''), create: optional(z.literal('1')) });

export const prefetch: Prefetch = (ask) => {
  ask(upstreamsQuery);
  ask(presetsQuery);
  ask(routingHealthQuery);
  ask(nodesQuery);
  ask(routesQuery);
  ask(installationStepsQuery);
};

export function Page() {
  const { admin } = useWords();
  const { upstreams } = admin;
  const [{ q, create }, change] = useSearchState(search);
  const [isCreating, setCreating] = useState(create === '1');
  const list = useQuery(upstreamsQuery);
  const isWanted = ({ name, base_url: url }: Upstream): boolean =>
    `${name} ${url}`.toLowerCase().includes(q.trim().toLowerCase());
  const add = <AddButton key="add" onAdd={() => setCreating(true)} />;
  return (
    <Frame
      title={upstreams.title}
      purpose={upstreams.purpose}
      actions={[<TestMany key="test" of={(list.data?.data ?? []).filter(isWanted)} />, add]}
      bar={
        <SearchBox label={upstreams.search} value={q} onSearch={(text) => change({ q: text })} />
      }
    >
      <NextInstallationStep />
      <Panel isFlush>
        <Loaded of={list}>
          {({ data }) => (
            <UpstreamsTable
              rows={data.filter(isWanted)}
              isGrouped={q.trim() === ''}
              empty={<NoUpstreams isFiltered={q !== ''} action={add} />}
            />
          )}
        </Loaded>
      </Panel>
      <NewUpstreamDialog
        isOpen={isCreating}
        onClose={() => {
          setCreating(false);
          change({ create: undefined });
        }}
      />
    </Frame>
  );
}

const TestManyDialog = lazy(async () => ({
  default: (await import('./test-many.tsx')).TestManyDialog,
}));

/** Leads to the test of all upstreams that the list shows. */
function TestMany({ of }: { of: readonly Upstream[] }) {
  const { language, locale } = useSpeech();
  const [isOpen, setOpen] = useState(false);
  if (of.length < 2) return null;
  return (
    <>
      <Button onClick={() => setOpen(true)}>
        {MANY_WORDS[language].testAll(formatCount(of.length, locale))}
      </Button>
      <OnceOpened isOpen={isOpen}>
        {isOpen && <TestManyDialog of={of} onClose={() => setOpen(false)} />}
      </OnceOpened>
    </>
  );
}

function NoUpstreams({ isFiltered, action }: { isFiltered: boolean; action: React.ReactNode }) {
  const { upstreams } = useWords().admin;
  return isFiltered ? (
    <EmptyState title={upstreams.noMatch} />
  ) : (
    <EmptyState icon={<Plug aria-hidden />} title={upstreams.empty} action={action}>
      {upstreams.emptyText}
    </EmptyState>
  );
}

function AddButton({ onAdd }: { onAdd: () => void }) {
  const { upstreams } = useWords().admin;
  return (
    <Button look="primary" icon={<Plus aria-hidden className="size-4" />} onClick={onAdd}>
      {upstreams.add}
    </Button>
  );
}

interface UpstreamsTableProps {
  rows: readonly Upstream[];
  isGrouped: boolean;
  empty: React.ReactNode;
}

function UpstreamsTable({ rows, isGrouped, empty }: UpstreamsTableProps) {
  const speech = useSpeech();
  const { upstreams } = speech.words.admin;
  const fares = useUpstreamFares();
  const [tested, setTested] = useState<Upstream>();
  const [isTesting, setTesting] = useState(false);
  const test = (upstream: Upstream): void => {
    setTested(upstream);
    setTesting(true);
  };
  return (
    <>
      <FoldedTable
        label={upstreams.title}
        columns={[...nameColumns(speech), ...fareColumns(speech, fares), testColumn(speech, test)]}
        rows={rows}
        rowId={({ id }) => id}
        rowTo={({ id }) => paths.adminUpstream(id)}
        empty={empty}
        groupOf={isGrouped ? ({ protocol }) => protocol : undefined}
        head={({ rows: of }) => <ProtocolHead of={of} fares={fares} />}
      />
      {tested && (
        <TestDialog
          key={tested.id}
          of={tested}
          startsAtOnce
          isOpen={isTesting}
          onClose={() => setTesting(false)}
        />
      )}
    </>
  );
}

/** Names the protocol of a group, and marks it where nodes leave one of its upstreams alone or see it fail. */
function ProtocolHead({ of, fares }: { of: readonly Upstream[]; fares: UpstreamFares }) {
  const { admin, tables } = useWords();
  const { states } = admin.routing;
  const all = of.filter(({ enabled }) => enabled).map(({ id }) => fares.of(id));
  const isResting = all.some(({ resting }) => resting.length > 0);
  const isFailing = all.some(({ failing }) => failing.length > 0);
  return (
    <>
      <span className="font-medium">{of[0] && tables.providers[of[0].protocol]}</span>
      {isResting && <Badge tone="bad">{states.resting}</Badge>}
      {isFailing && !isResting && <Badge tone="warn">{states.failing}</Badge>}
    </>
  );
}

function testColumn({ words }: Speech, test: (upstream: Upstream) => void): Column<Upstream> {
  const { upstreams } = words.admin;
  return {
    id: 'test',
    header: '',
    align: 'right',
    cell: (upstream) => (
      <Button
        size="small"
        aria-label={upstreams.testOf(upstream.name)}
        onClick={() => test(upstream)}
      >
        {upstreams.testShort}
      </Button>
    ),
  };
}

function nameColumns({ words }: Speech): Column<Upstream>[] {
  const { upstreams } = words.admin;
  return [
    {
      id: 'name',
      header: upstreams.name,
      cell: ({ id, name, base_url: url }) => (
        <>
          <TextLink to={paths.adminUpstream(id)} className="foreign">
            {name}
          </TextLink>
          <code className="foreign block text-tiny text-text-3">{url}</code>
        </>
      ),
    },
    {
      id: 'protocol',
      header: upstreams.protocol,
      from: 'md',
      cell: ({ protocol }) => words.tables.providers[protocol],
    },
  ];
}

function fareColumns({ words, locale }: Speech, fares: UpstreamFares): Column<Upstream>[] {
  const { upstreams, routing } = words.admin;
  return [
    {
      id: 'state',
      header: upstreams.status,
      cell: (row) => <UpstreamFareBadge of={row} fares={fares} />,
    },
    {
      id: 'routes',
      header: upstreams.routes,
      align: 'right',
      from: 'md',
      cell: ({ id }) => <Count count={fares.of(id).routes} isWhole />,
    },
    {
      id: 'requests',
      header: upstreams.requests24,
      align: 'right',
      from: 'sm',
      cell: ({ id }) => <Count count={fares.of(id).requests} />,
    },
    {
      id: 'errors',
      header: routing.errors24,
      align: 'right',
      from: 'sm',
      cell: ({ id }) => errorsText(fares.of(id), locale),
    },
    {
      id: 'latency',
      header: routing.p95,
      align: 'right',
      from: 'lg',
      cell: ({ id }) => <Duration ms={fares.of(id).p95} />,
    },
  ];
}

function errorsText(
  { errors, requests }: { errors: number; requests: number },
  locale: string,
): string {
  return errors === 0
    ? '0'
    : `${formatCount(errors, locale)} · ${formatPercent(errors / requests, locale)}`;
}

/** Shows whether the upstream is disabled, left alone by some nodes, failing, or healthy. */
function UpstreamFareBadge({ of: upstream, fares }: { of: Upstream; fares: UpstreamFares }) {
  const { admin } = useWords();
  const { resting, failing } = fares.of(upstream.id);
  if (!upstream.enabled) return <UpstreamState of={upstream} />;
  if (resting.length + failing.length === 0)
    return <Badge tone="good">{admin.upstreams.sound}</Badge>;
  const isResting = resting.length > 0;
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2">
      <Badge tone={isResting ? 'bad' : 'warn'}>
        {isResting ? admin.routing.states.resting : admin.routing.states.failing}
      </Badge>
      <span className="foreign text-tiny text-text-3">
        {(isResting ? resting : failing).join(', ')}
      </span>
    </span>
  );
}
