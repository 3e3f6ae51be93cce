import { sideTokens } from '../../api/tables.ts';
import type { UsageStatistics } from '../../api/usage.ts';
import { Count } from '../../ui/figures.tsx';
import { colorOf, fillOf } from '../../ui/charts/series.ts';
import { Parts } from '../../ui/tables/parts.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { useWords, type Words } from '../../words/words.ts';
import { totalsOf, type GroupTotals } from './course.ts';
import { useGroupName } from './group-name.ts';

/** Is the number of groups of one part. */
const PART = 50;

/** Shows the figures behind a chart, in its colours. */
export function TotalsTable({ of: statistics }: { of: UsageStatistics }) {
  const { usage } = useWords();
  const nameOf = useGroupName(statistics.group_by);
  return (
    <Parts of={totalsOf(statistics)} size={PART}>
      {(rows) => (
        <Table
          label={usage.totals}
          columns={columnsOf(statistics.group_by, usage, nameOf)}
          rows={rows}
          rowId={({ id }) => id ?? 'none'}
          empty={null}
        />
      )}
    </Parts>
  );
}

function columnsOf(
  groupBy: UsageStatistics['group_by'],
  usage: Words['usage'],
  nameOf: (group: GroupTotals) => string,
): Column<GroupTotals>[] {
  return [
    {
      id: 'name',
      header: groupBy === null ? usage.name : usage.groups[groupBy],
      cell: (group) => (
        <span className="flex items-center gap-2">
          <svg aria-hidden viewBox="0 0 8 8" className="size-2 shrink-0">
            <rect width="8" height="8" rx="2" className={fillOf(colorOf(group.id))} />
          </svg>
          <span className="foreign line-clamp-1 max-w-64">{nameOf(group)}</span>
        </span>
      ),
    },
    figure('requests', usage.requests, ({ requests }) => requests),
    figure('errors', usage.errors, ({ errors }) => errors, 'sm'),
    figure('input', usage.input, (group) => sideTokens(group, 'prompt'), 'md'),
    figure('cached', usage.cached, (group) => group.cache_read_tokens, 'md'),
    figure('output', usage.output, (group) => sideTokens(group, 'output'), 'md'),
    figure('charge', usage.charge, ({ charge }) => charge),
  ];
}

function figure(
  id: string,
  header: string,
  countOf: (group: GroupTotals) => number | null,
  from?: 'sm' | 'md',
): Column<GroupTotals> {
  return {
    id,
    header,
    align: 'right',
    ...(from && { from }),
    cell: (group) => <Count count={countOf(group) ?? 0} isWhole />,
  };
}
