import type { ReactNode } from 'react';
import { useSpeech, type Speech } from '../../words/words.ts';
import { formatCount } from '../format.ts';
import { ChevronRight } from '../icons.tsx';
import { groupsOf, linesOf, type Group, type Line } from './groups.ts';
import { Pager } from './pager.tsx';
import { optional, pageNumber, useSearchState, z } from './search-state.ts';
import { Table, type Column, type TableProps } from './table.tsx';

/** A part has this many lines, so that a page with its other content is at most three screens long. */
const PART = 25;
const search = z.object({ part: pageNumber, open: optional(z.string()) });

interface FoldedTableProps<Row> extends TableProps<Row> {
  /** Names the group of a row. A list of more than one part is folded by it; without it such a list stands flat, e.g. while one searches. */
  groupOf?: ((row: Row) => string) | undefined;
  /** Shows what a group is and how it does. */
  head: (group: Group<Row>) => ReactNode;
}

/** Shows a list that the browser holds whole: a short one stays as it is, a long one is folded into groups and shown part by part. The address names part and group. */
export function FoldedTable<Row>(props: FoldedTableProps<Row>) {
  const { groupOf, head, ...table } = props;
  const [{ part, open }, change] = useSearchState(search);
  const speech = useSpeech();
  if (table.rows.length <= PART) return <Table {...table} />;
  const groups = groupOf ? groupsOf(table.rows, groupOf) : [];
  const isFolded = groups.length > 1;
  const lines = isFolded ? linesOf(groups, (name) => name === open) : flatLines(table.rows);
  const shown = Math.min(part, Math.ceil(lines.length / PART));
  const toggle = (group: Group<Row>, isOpen: boolean): void =>
    change({ open: isOpen ? undefined : group.name, part: partOf(groups.indexOf(group)) });
  return (
    <>
      <Table
        {...linesTable(table)}
        rows={lines.slice((shown - 1) * PART, shown * PART)}
        spanOf={(line) =>
          'row' in line ? undefined : (
            <GroupHead
              of={line.group}
              isOpen={line.isOpen}
              onToggle={() => toggle(line.group, line.isOpen)}
            >
              {head(line.group)}
            </GroupHead>
          )
        }
      />
      <Pager
        page={shown}
        pageSize={PART}
        total={lines.length}
        onPage={(to) => change({ part: to === 1 ? undefined : to })}
        {...(isFolded && { text: totalText(table.rows.length, groups.length, speech) })}
      />
    </>
  );
}

function flatLines<Row>(rows: readonly Row[]): Line<Row>[] {
  return rows.map((row) => ({ row }));
}

/** Returns the part of a line as the address names it. All groups before the one that is toggled are folded, so its index is its line. */
function partOf(line: number): number | undefined {
  return line < PART ? undefined : Math.floor(line / PART) + 1;
}

function totalText(rows: number, groups: number, { words, locale }: Speech): string {
  return words.general.inGroups(formatCount(rows, locale), formatCount(groups, locale));
}

/** Returns the columns and ids of a table of lines. */
function linesTable<Row>({ columns, rowId, rowTo, ...rest }: TableProps<Row>) {
  const only = <Answer,>(line: Line<Row>, of: (row: Row) => Answer, otherwise: Answer): Answer =>
    'row' in line ? of(line.row) : otherwise;
  return {
    label: rest.label,
    sort: rest.sort,
    ...(rest.onSort && { onSort: rest.onSort }),
    columns: columns.map((column): Column<Line<Row>> => ({
      ...column,
      cell: (line) => only<ReactNode>(line, column.cell, null),
    })),
    rowId: (line: Line<Row>) => ('row' in line ? rowId(line.row) : `group ${line.group.name}`),
    ...(rowTo && { rowTo: (line: Line<Row>) => only(line, rowTo, '') }),
  };
}

interface GroupHeadProps<Row> {
  of: Group<Row>;
  isOpen: boolean;
  onToggle: () => void;
  children: ReactNode;
}

function GroupHead<Row>({ of: { rows }, isOpen, onToggle, children }: GroupHeadProps<Row>) {
  const { locale } = useSpeech();
  return (
    <button
      type="button"
      aria-expanded={isOpen}
      onClick={onToggle}
      className="flex w-full flex-wrap items-center gap-x-3 gap-y-1 rounded-sm text-left"
    >
      <ChevronRight aria-hidden className={`size-4 text-text-3 ${isOpen ? 'rotate-90' : ''}`} />
      {children}
      <span className="tabular ml-auto text-text-3">{formatCount(rows.length, locale)}</span>
    </button>
  );
}
