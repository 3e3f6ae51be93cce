import { useNavigate } from '@tanstack/react-router';
import { ArrowDown, ArrowUp } from '../icons.tsx';
import type { MouseEvent, ReactNode } from 'react';
import { ScrollBox } from './scroll-box.tsx';
import { recall } from '../../browser/preferences.ts';
import { useWords } from '../../words/words.ts';

export interface Column<Row> {
  id: string;
  /** Is empty over buttons, where screen readers hear "Actions". */
  header: string;
  cell: (row: Row) => ReactNode;
  /** Columns of figures are aligned right. */
  align?: 'right';
  /** Is the server's name of this order; without one the column does not sort. */
  sort?: string;
  /** Is hidden on screens narrower than this. */
  from?: 'sm' | 'md' | 'lg';
}

export interface TableProps<Row> {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowId: (row: Row) => string | number;
  /** Returns the page to which a click on a row leads; the link is in one of its cells, for keyboards. */
  rowTo?: (row: Row) => string;
  /** Is `name` or `-name`, as the server writes it. */
  sort?: string | undefined;
  onSort?: (sort: string) => void;
  /** Is shown in place of rows where there are none. */
  empty?: ReactNode;
  /** Returns the one cell of a row that spans all columns; undefined for the others. */
  spanOf?: (row: Row) => ReactNode;
}

const FROM = { sm: 'max-sm:hidden', md: 'max-md:hidden', lg: 'max-lg:hidden' } as const;

/** Shows every table of the console. The server, `FoldedTable` or `Parts` sorts and pages, so that lists of any length stay quick. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, rowId, rowTo, sort, onSort, empty, spanOf } = props;
  const navigate = useNavigate();
  if (rows.length === 0 && empty !== undefined) return empty;
  const height = recall('rows') === 'compact' ? 'h-8' : 'h-10';
  const onOpen = rowTo && ((row: Row): void => void navigate({ to: rowTo(row) }));
  return (
    <ScrollBox label={label}>
      <table className="w-full border-collapse text-table" aria-label={label}>
        <HeaderRow columns={columns} sort={sort} onSort={onSort} />
        <tbody>
          {rows.map((row) => (
            <BodyRow key={rowId(row)} {...{ row, columns, height, onOpen, spanOf }} />
          ))}
        </tbody>
      </table>
    </ScrollBox>
  );
}

interface BodyRowProps<Row> {
  row: Row;
  columns: readonly Column<Row>[];
  height: string;
  onOpen: ((row: Row) => void) | undefined;
  spanOf: ((row: Row) => ReactNode) | undefined;
}

function BodyRow<Row>({ row, columns, height, onOpen, spanOf }: BodyRowProps<Row>) {
  const span = spanOf?.(row);
  if (span !== undefined)
    return (
      <tr className={`${height} border-b border-line bg-bg last:border-b-0`}>
        <td colSpan={columns.length} className="px-4 py-1">
          {span}
        </td>
      </tr>
    );
  return (
    <tr
      onClick={(event) => isPlainClick(event) && onOpen?.(row)}
      className={`${height} border-b border-line last:border-b-0 hover:bg-bg ${onOpen ? 'cursor-pointer' : ''}`}
    >
      {columns.map((column) => (
        <td key={column.id} className={`${cellClass(column)} ${endOf(columns, column)}`}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
}

interface HeaderRowProps<Row> {
  columns: readonly Column<Row>[];
  sort: string | undefined;
  onSort: ((sort: string) => void) | undefined;
}

function HeaderRow<Row>({ columns, sort, onSort }: HeaderRowProps<Row>) {
  return (
    <thead>
      <tr className="border-b border-line">
        {columns.map((column) => (
          <HeaderCell
            key={column.id}
            column={column}
            end={endOf(columns, column)}
            sort={sort}
            onSort={onSort}
          />
        ))}
      </tr>
    </thead>
  );
}

/** The last column that is seen stands as far from the edge as the first, whatever is hidden. */
function endOf<Row>(columns: readonly Column<Row>[], column: Column<Row>): string {
  const isLast = (...shown: readonly (string | undefined)[]): boolean =>
    columns.findLast(({ from }) => shown.includes(from)) === column;
  return [
    isLast(undefined) ? 'max-sm:pr-4' : '',
    isLast(undefined, 'sm') ? 'max-md:pr-4' : '',
    isLast(undefined, 'sm', 'md') ? 'max-lg:pr-4' : '',
  ].join(' ');
}

function cellClass<Row>({ align, from }: Column<Row>): string {
  return `px-2 py-1.5 sm:px-3 first:pl-4 last:pr-4 ${align === 'right' ? 'tabular text-right' : 'text-left'} ${from ? FROM[from] : ''}`;
}

/** Returns false on links, buttons and marked text in a row, which keep their own meaning. */
function isPlainClick(event: MouseEvent<HTMLElement>): boolean {
  const isOnControl =
    event.target instanceof Element && event.target.closest('a,button,input,select,label') !== null;
  // The second click of a double click was meant for what stood here before.
  const isFirst = event.detail < 2;
  const hasModifier = event.metaKey || event.ctrlKey;
  return !isOnControl && isFirst && !hasModifier && String(getSelection()) === '';
}

interface HeaderCellProps<Row> {
  column: Column<Row>;
  end: string;
  sort: string | undefined;
  onSort: ((sort: string) => void) | undefined;
}

function HeaderCell<Row>({ column, end, sort, onSort }: HeaderCellProps<Row>) {
  const { general } = useWords();
  const { header, align, from } = column;
  const isUp = column.sort !== undefined && sort === column.sort;
  const isDown = column.sort !== undefined && sort === `-${column.sort}`;
  const className = `h-9 px-2 sm:px-3 first:pl-4 last:pr-4 text-tiny font-medium whitespace-nowrap text-text-3 ${align === 'right' ? 'text-right' : 'text-left'} ${from ? FROM[from] : ''} ${end}`;
  if (column.sort === undefined || !onSort)
    return (
      <th scope="col" className={className}>
        {header === '' ? <span className="sr-only">{general.actions}</span> : header}
      </th>
    );
  const name = column.sort;
  return (
    <th
      scope="col"
      aria-sort={isUp ? 'ascending' : isDown ? 'descending' : 'none'}
      className={className}
    >
      <button
        type="button"
        title={general.sortBy(header)}
        onClick={() => onSort(isDown ? name : `-${name}`)}
        className="inline-flex items-center gap-1 rounded-sm hover:text-text"
      >
        {header}
        {isUp && <ArrowUp aria-hidden className="size-3" />}
        {isDown && <ArrowDown aria-hidden className="size-3" />}
      </button>
    </th>
  );
}
