import { useQuery } from '@tanstack/react-query';
import { useMe } from '../../api/session.ts';
import { useLive } from '../../api/events/stream.ts';
import { requestsQuery } from '../../api/usage.ts';
import { Panel } from '../../ui/page.tsx';
import type { TimeRange } from '../../api/range-bounds.ts';
import { Loaded } from '../../ui/states.tsx';
import { useWords } from '../../words/words.ts';
import { RequestsTable } from '../usage/requests-table.tsx';

const SHOWN = 5;

export const failedQuery = (userId: number, range: TimeRange) =>
  requestsQuery({ user_id: userId, outcome: 'upstream_failed', page_size: SHOWN }, range);

/** Lists the latest requests that failed because of an upstream; refusals of limits and funds are shown above. */
export function LastErrors({ range }: { range: TimeRange }) {
  const { overview } = useWords();
  const me = useMe();
  const live = useLive();
  const failed = useQuery({
    ...failedQuery(me.id, range),
    ...live,
  });
  if (failed.data?.data.length === 0) return null;
  return (
    <Panel title={overview.lastErrors} isFlush>
      <Loaded of={failed}>{({ data }) => <RequestsTable rows={data} empty={null} />}</Loaded>
    </Panel>
  );
}
