import { useState, type ReactNode } from 'react';
import { Pager } from './pager.tsx';

interface PartsProps<Row> {
  of: readonly Row[];
  size: number;
  children: (rows: readonly Row[]) => ReactNode;
}

/** Shows a list that is at hand whole part by part, beside another list that the address names. */
export function Parts<Row>({ of: rows, size, children }: PartsProps<Row>) {
  const [page, setPage] = useState(1);
  const shown = Math.max(1, Math.min(page, Math.ceil(rows.length / size)));
  return (
    <>
      {children(rows.slice((shown - 1) * size, shown * size))}
      {rows.length > size && (
        <Pager page={shown} pageSize={size} total={rows.length} onPage={setPage} />
      )}
    </>
  );
}
