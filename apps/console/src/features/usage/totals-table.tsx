import type { UsageStatistics } from '../../api/usage.ts';
import { Count } from '../../ui/figures.tsx';
import { colorOf, fillOf } from '../../ui/charts/series.ts';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { useWords, type Words } from '../../words/words.ts';
import { totalsOf, type GroupTotals } from './course.ts';
import { useGroupName } from './group-name.ts';

/** The figures behind a chart, in its colours. A row narrows the page down to its group. */
export function TotalsTable({
  of: statistics,
  rowTo,
}: {
  of: UsageStatistics;
  rowTo?: (group: GroupTotals) => string;
}) {
  const { usage } = useWords();
  const nameOf = useGroupName(statistics.group_by);
  return (
    <Table
      label={usage.totals}
      columns={columnsOf(statistics.group_by, usage, nameOf)}
      rows={totalsOf(statistics)}
      rowId={({ id }) => id ?? 'none'}
      {...(rowTo && { rowTo })}
      empty={null}
    />
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
    figure('requests', usage.requests),
    figure('errors', usage.errors, 'sm'),
    figure('input_tokens', usage.input, 'md', 'audio_input_tokens'),
    figure('cache_read_tokens', usage.cached, 'md'),
    figure('output_tokens', usage.output, 'md', 'audio_output_tokens'),
    figure('charge', usage.charge),
  ];
}

function figure(
  id: Exclude<keyof GroupTotals, 'id' | 'name'>,
  header: string,
  from?: 'sm' | 'md',
  also?: 'audio_input_tokens' | 'audio_output_tokens',
): Column<GroupTotals> {
  return {
    id,
    header,
    align: 'right',
    ...(from && { from }),
    cell: (group) => <Count count={group[id] + (also ? group[also] : 0)} isWhole />,
  };
}
