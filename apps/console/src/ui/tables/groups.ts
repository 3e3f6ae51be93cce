/** Holds the rows of a table that belong together, below one line that may be unfolded. */
export interface Group<Row> {
  name: string;
  rows: readonly Row[];
}

/** Is one line of a table: the head of a group, or a row. */
export type Line<Row> = { group: Group<Row>; isOpen: boolean } | { row: Row };

/** Returns the groups in the order of their first rows. */
export function groupsOf<Row>(
  rows: readonly Row[],
  nameOf: (row: Row) => string,
): readonly Group<Row>[] {
  return [...Map.groupBy(rows, nameOf)].map(([name, of]) => ({ name, rows: of }));
}

/** Returns the heads of all groups, and the rows of those that are open. */
export function linesOf<Row>(
  groups: readonly Group<Row>[],
  isOpen: (name: string) => boolean,
): readonly Line<Row>[] {
  return groups.flatMap((group): Line<Row>[] =>
    isOpen(group.name)
      ? [{ group, isOpen: true }, ...group.rows.map((row) => ({ row }))]
      : [{ group, isOpen: false }],
  );
}
