import type { ReactNode } from 'react';
import { Pager } from './pager.tsx';
import { Loaded, type Loadable } from '../states.tsx';

interface PagedProps<Row> {
  of: Loadable<{ data: readonly Row[]; total: number }>;
  page: number;
  pageSize: number;
  onPage: (page: number) => void;
  children: (rows: readonly Row[]) => ReactNode;
}

/** Shows one page of a list, with the way to the others below it. */
export function Paged<Row>({ of: list, page, pageSize, onPage, children }: PagedProps<Row>) {
  return (
    <Loaded of={list}>
      {({ data, total }) => (
        <>
          {children(data)}
          <Pager page={page} pageSize={pageSize} total={total} onPage={onPage} />
        </>
      )}
    </Loaded>
  );
}
