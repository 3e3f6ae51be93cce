import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import {
  refusalCountsQuery,
  refusedQuery,
  type RefusalCounts,
  type RefusedRequest,
} from '../../api/incidents.ts';
import { LIVE } from '../../api/live.ts';
import type { TimeRange } from '../../api/range-bounds.ts';
import type { UsageFilter } from '../../api/usage.ts';
import { Count } from '../../ui/figures.tsx';
import { TextLink } from '../../ui/forms/button.tsx';
import { Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { CursorPager } from '../../ui/tables/cursor-pager.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Freshness } from '../../ui/time/freshness.tsx';
import { Ago } from '../../ui/time/time.tsx';
import { useWords, type Words } from '../../words/words.ts';
import { RefusalBadge } from './outcome.tsx';
import { useRequestPath } from './request-path.ts';
import type { RequestColumn } from './requests-table.tsx';

interface RefusedPanelProps {
  /** Applies by account and key; its other fields are ignored. */
  filter: UsageFilter;
  range: TimeRange;
  cursor: string | undefined;
  onCursor: (cursor: string | undefined) => void;
  show: readonly RequestColumn[];
  actions: ReactNode;
}

/** Shows requests that were refused before they began: how many for which reason, and each of those that are kept whole. */
export function RefusedPanel({
  filter,
  range,
  cursor,
  onCursor,
  show,
  actions,
}: RefusedPanelProps) {
  const { usage } = useWords();
  const { user_id: userId, key_id: keyId } = filter;
  const question = { user_id: userId, key_id: keyId };
  const live = cursor === undefined ? LIVE : {};
  const counts = useQuery({ ...refusalCountsQuery(question, range), ...live });
  const list = useQuery({ ...refusedQuery({ ...question, cursor }, range), ...live });
  return (
    <Panel
      title={usage.lists.refused}
      isFlush
      actions={actions}
      note={cursor === undefined ? <Freshness of={list} /> : undefined}
    >
      {counts.data && counts.data.total > 0 && <Counts of={counts.data} />}
      <Loaded of={list}>
        {({ data }) => (
          <RefusedTable
            rows={data}
            show={show}
            empty={<EmptyState title={usage.noRefused}>{usage.refusedKept}</EmptyState>}
          />
        )}
      </Loaded>
      <CursorPager cursor={cursor} next={list.data?.next_cursor} onCursor={onCursor} />
    </Panel>
  );
}

/** Counts the refused requests of the range by reason, the most first. */
function Counts({ of: { total, data } }: { of: RefusalCounts }) {
  const { usage } = useWords();
  const byReason = Map.groupBy(data, ({ status, code }) => `${status} ${code}`);
  return (
    <p className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b border-line px-4 py-2.5 text-table text-text-2">
      <span>
        {usage.refusedTotal} <Count count={total} isWhole />
      </span>
      {[...byReason].map(([reason, rows]) => (
        <span key={reason} className="foreign">
          {reason} <Count count={rows.reduce((sum, { count }) => sum + count, 0)} isWhole />
        </span>
      ))}
    </p>
  );
}

function RefusedTable({
  rows,
  show,
  empty,
}: {
  rows: readonly RefusedRequest[];
  show: readonly RequestColumn[];
  empty: ReactNode;
}) {
  const words = useWords();
  const requestPath = useRequestPath();
  return (
    <Table
      label={words.usage.lists.refused}
      columns={columnsOf(words, { requestPath, show })}
      rows={rows}
      rowId={({ rid }) => rid}
      rowTo={({ rid }) => requestPath(rid)}
      empty={empty}
    />
  );
}

function columnsOf(
  words: Words,
  { requestPath, show }: { requestPath: (rid: string) => string; show: readonly RequestColumn[] },
): Column<RefusedRequest>[] {
  const { usage, request } = words;
  return [
    {
      id: 'when',
      header: usage.when,
      cell: ({ rid, at }) => (
        <TextLink to={requestPath(rid)}>
          <Ago at={at} />
        </TextLink>
      ),
    },
    { id: 'status', header: request.status, cell: (row) => <RefusalBadge of={row} /> },
    textColumn('model', usage.model, ({ model }) => model),
    ...(show.includes('user') ? [textColumn('user', usage.user, (row) => row.username)] : []),
    textColumn('key', usage.key, (row) => row.key_name),
    {
      id: 'message',
      header: usage.answer,
      from: 'lg',
      cell: ({ message }) => (
        <span className="foreign block max-w-96 truncate text-text-2" title={message}>
          {message}
        </span>
      ),
    },
  ];
}

function textColumn(
  id: string,
  header: string,
  textOf: (row: RefusedRequest) => string | null,
): Column<RefusedRequest> {
  return {
    id,
    header,
    from: 'sm',
    cell: (row) => <span className="foreign">{textOf(row) ?? '–'}</span>,
  };
}
