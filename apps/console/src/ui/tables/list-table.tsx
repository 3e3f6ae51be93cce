import type { ReactNode } from 'react';
import type { Search } from '../../search.ts';
import { Paged } from './paged.tsx';
import { SearchBox } from './search-box.tsx';
import { pageNumber, useSearchState, withDefault, z } from './search-state.ts';
import type { Loadable } from '../states.tsx';
import { Table, type TableProps } from './table.tsx';

/** Names the part of a list that is asked for; the address holds it. */
export interface ListState<Sort extends string> {
  page: number;
  /** Is '' where nothing is searched for. */
  q: string;
  sort: Sort;
}

/** Holds the search parameters that change when a visitor leaves one list of a page for another. */
export const FIRST_PAGE = { page: undefined, q: undefined, sort: undefined };

/** Returns the part of a list that the address names; the first of `sorts` where it names no order. */
export function useListState<Sort extends string>(
  sorts: readonly [Sort, ...Sort[]],
): [ListState<Sort>, (patch: Search) => void] {
  const schema = z.object({
    page: pageNumber,
    q: withDefault(z.string(), ''),
    sort: withDefault(z.enum(sorts), sorts[0]),
  });
  return useSearchState(schema) as never;
}

interface ListTableProps<Row> extends Omit<TableProps<Row>, 'rows' | 'sort' | 'onSort'> {
  of: Loadable<{ data: readonly Row[]; total: number }>;
  state: ListState<string>;
  onChange: (patch: Search) => void;
  pageSize: number;
  /** Is the label of its search box. */
  search: string;
  empty: ReactNode;
  /** Is shown in place of rows where the search finds none. */
  noMatch: ReactNode;
}

/** Shows a list of the server, which searches, sorts, pages, and says how many rows there are. */
export function ListTable<Row>({
  of: list,
  state: { page, q, sort },
  onChange,
  pageSize,
  search,
  empty,
  noMatch,
  ...table
}: ListTableProps<Row>) {
  return (
    <>
      <div className="border-b border-line px-4 py-2">
        <SearchBox
          label={search}
          value={q}
          onSearch={(text) => onChange({ q: text, page: undefined })}
        />
      </div>
      <Paged of={list} page={page} pageSize={pageSize} onPage={(to) => onChange({ page: to })}>
        {(rows) => (
          <Table
            {...table}
            rows={rows}
            sort={sort}
            onSort={(order) => onChange({ sort: order, page: undefined })}
            empty={q === '' ? empty : noMatch}
          />
        )}
      </Paged>
    </>
  );
}
