import { useQuery } from '@tanstack/react-query';
import { GitCompare, Layers } from '../../ui/icons.tsx';
import { ADMIN_PAGE_SIZE } from '../../api/admin.ts';
import { snapshotsQuery, unpin, type Snapshot } from '../../api/fleet.ts';
import { paths } from '../../paths.ts';
import { NodesBehind, NodesOn } from './nodes-on.tsx';
import { PublishedBy, RollBack, VersionBadges } from './version.tsx';
import { useAct } from '../../ui/forms/act.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, ButtonLink } from '../../ui/forms/button.tsx';
import { formatCount } from '../../ui/format.ts';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import { Paged } from '../../ui/tables/paged.tsx';
import { pageNumber, useSearchState, z } from '../../ui/tables/search-state.ts';
import { EmptyState } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Ago } from '../../ui/time/time.tsx';
import { useSpeech, useWords, type Speech } from '../../words/words.ts';
import type { Prefetch } from '../../page-module.ts';

const search = z.object({ page: pageNumber });

export const prefetch: Prefetch = (ask, { search: raw }) =>
  ask(snapshotsQuery(search.parse(raw).page));

export function Page() {
  const { admin } = useWords();
  const { snapshots } = admin;
  const [{ page }, change] = useSearchState(search);
  const list = useQuery(snapshotsQuery(page));
  const isPinned = list.data?.data.some(({ pinned }) => pinned) ?? false;
  return (
    <Frame title={snapshots.title} purpose={snapshots.purpose}>
      {isPinned && <PinnedNote />}
      <NodesBehind />
      <Panel isFlush>
        <Paged
          of={list}
          page={page}
          pageSize={ADMIN_PAGE_SIZE}
          onPage={(value) => change({ page: value })}
        >
          {(rows) => <SnapshotsTable rows={rows} />}
        </Paged>
      </Panel>
    </Frame>
  );
}

function PinnedNote() {
  const { admin } = useWords();
  const { snapshots } = admin;
  const { isBusy, run } = useAct({ act: () => unpin(), done: () => snapshots.unpinned });
  return (
    <Panel>
      <div className="flex flex-wrap items-center gap-3">
        <Badge tone="warn">{snapshots.pinned}</Badge>
        <p className="min-w-0 flex-1 text-text-2">{snapshots.unpinText}</p>
        <Button look="primary" isBusy={isBusy} onClick={() => run(undefined)}>
          {snapshots.unpin}
        </Button>
      </div>
    </Panel>
  );
}

function SnapshotsTable({ rows }: { rows: readonly Snapshot[] }) {
  const speech = useSpeech();
  const { snapshots } = speech.words.admin;
  const { data: first } = useQuery(snapshotsQuery(1));
  return (
    <Table
      label={snapshots.title}
      columns={columnsOf(speech, first?.data[0])}
      rows={rows}
      rowId={({ version }) => version}
      empty={<EmptyState icon={<Layers aria-hidden />} title={snapshots.empty} />}
    />
  );
}

/** Takes as `newest` what nodes run, or are about to run. */
function columnsOf({ words, locale }: Speech, newest: Snapshot | undefined): Column<Snapshot>[] {
  const { snapshots } = words.admin;
  return [
    {
      id: 'version',
      header: snapshots.version,
      cell: (row) => (
        <span className="flex flex-wrap items-center gap-2">
          <span className="tabular font-medium">{formatCount(row.version, locale)}</span>
          <VersionBadges of={row} newest={newest} />
        </span>
      ),
    },
    {
      id: 'nodes',
      header: words.admin.nodes.title,
      from: 'sm',
      cell: ({ version }) => <NodesOn version={version} />,
    },
    {
      id: 'by',
      header: snapshots.by,
      from: 'sm',
      cell: (row) => <PublishedBy of={row} />,
    },
    { id: 'at', header: snapshots.at, cell: ({ created_at: at }) => <Ago at={at} /> },
    {
      id: 'acts',
      header: '',
      align: 'right',
      cell: (row) => <SnapshotActs of={row} newest={newest} />,
    },
  ];
}

interface SnapshotActsProps {
  of: Snapshot;
  newest: Snapshot | undefined;
}

function SnapshotActs({ of: row, newest }: SnapshotActsProps) {
  const { snapshots } = useWords().admin;
  return (
    <span className="inline-flex flex-wrap justify-end gap-2">
      <ButtonLink
        size="small"
        to={paths.adminSnapshot(row.version)}
        icon={<GitCompare aria-hidden className="size-4" />}
      >
        {snapshots.show}
      </ButtonLink>
      <RollBack of={row} newest={newest} size="small" />
    </span>
  );
}
