import { useState } from 'react';

/** Keeps the rows of a list in which one acts. What was acted on stays in its place as long as the page is open, with what came of it: the second click of a hurried hand must not meet the row that moved up. */
export function useActedRows<Row>(
  rows: readonly Row[],
  idOf: (row: Row) => string | number,
): { shown: Row[]; isActed: (row: Row) => boolean; keep: (row: Row) => void } {
  const [acted, setActed] = useState<readonly { row: Row; index: number }[]>([]);
  const shown = withKept(rows, acted, idOf);
  const indexOf = (row: Row): number => shown.findIndex((one) => idOf(one) === idOf(row));
  return {
    shown,
    isActed: (row) => acted.some((kept) => idOf(kept.row) === idOf(row)),
    keep: (row) =>
      setActed((before) => [
        ...before.filter((kept) => idOf(kept.row) !== idOf(row)),
        { row, index: indexOf(row) },
      ]),
  };
}

/** The rows in their order, with each kept one at the place where it was. */
export function withKept<Row>(
  rows: readonly Row[],
  kept: readonly { row: Row; index: number }[],
  idOf: (row: Row) => string | number,
): Row[] {
  const ids = new Set(kept.map(({ row }) => idOf(row)));
  const shown = rows.filter((row) => !ids.has(idOf(row)));
  for (const { row, index } of kept.toSorted((a, b) => a.index - b.index))
    shown.splice(index, 0, row);
  return shown;
}
