import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useLive } from '../../api/events/stream.ts';
import { requestsQuery, type RequestsQuestion } from '../../api/usage.ts';
import { paths } from '../../paths.ts';
import { ButtonLink } from '../../ui/forms/button.tsx';
import { CursorPager } from '../../ui/tables/cursor-pager.tsx';
import { Freshness } from '../../ui/time/freshness.tsx';
import { Panel } from '../../ui/page.tsx';
import type { TimeRange } from '../../api/range-bounds.ts';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { useWords } from '../../words/words.ts';
import { RequestsTable, type RequestColumn } from './requests-table.tsx';

interface RequestsPanelProps {
  filter: Omit<RequestsQuestion, 'cursor'>;
  range: TimeRange;
  cursor: string | undefined;
  onCursor: (cursor: string | undefined) => void;
  show?: readonly RequestColumn[];
  /** Holds the filters that narrow this list alone. */
  actions?: ReactNode;
}

/** Lists requests page by page, by cursor: as quick with a million behind it as with ten. The first page is live. */
export function RequestsPanel({
  filter,
  range,
  cursor,
  onCursor,
  show,
  actions,
}: RequestsPanelProps) {
  const { usage } = useWords();
  const live = useLive();
  const list = useQuery({
    ...requestsQuery({ ...filter, cursor }, range),
    ...(cursor === undefined ? live : {}),
  });
  return (
    <Panel
      title={usage.list}
      isFlush
      actions={actions}
      note={cursor === undefined ? <Freshness of={list} /> : undefined}
    >
      <Loaded of={list}>
        {({ data }) => <RequestsTable rows={data} {...(show && { show })} empty={<NoRequests />} />}
      </Loaded>
      <CursorPager cursor={cursor} next={list.data?.next_cursor} onCursor={onCursor} />
    </Panel>
  );
}

function NoRequests() {
  const { usage } = useWords();
  return (
    <EmptyState
      title={usage.emptyTitle}
      action={<ButtonLink to={paths.playground()}>{usage.emptyFirst}</ButtonLink>}
    >
      {usage.emptyText}
    </EmptyState>
  );
}
