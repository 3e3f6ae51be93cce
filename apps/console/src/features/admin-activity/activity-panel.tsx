import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { activityQuery, type ActivityQuestion } from '../../api/admin.ts';
import { Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { CursorPager } from '../../ui/tables/cursor-pager.tsx';
import { ActivityTable } from './activity-table.tsx';

/** Shows a part of the log as a part of another page. */
export function ActivityPanel({
  title,
  which,
  kinds,
  empty,
}: {
  title: string;
  which: Omit<ActivityQuestion, 'cursor'>;
  /** Shows what was done to records of these kinds alone. */
  kinds?: readonly string[];
  empty: string;
}) {
  const [cursor, setCursor] = useState<string>();
  const list = useQuery(activityQuery({ ...which, ...(cursor !== undefined && { cursor }) }));
  return (
    <Panel title={title} isFlush>
      <Loaded of={list}>
        {({ data, next_cursor: next }) => (
          <>
            <ActivityTable
              label={title}
              rows={kinds ? data.filter((entry) => kinds.includes(entry.target_kind)) : data}
              empty={<EmptyState title={empty} />}
            />
            <CursorPager cursor={cursor} next={next} onCursor={setCursor} />
          </>
        )}
      </Loaded>
    </Panel>
  );
}
