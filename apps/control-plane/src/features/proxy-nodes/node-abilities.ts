import type { NodeAbility } from '@tollgate/contracts';

/** Columns of `proxy_nodes`: since when a node can do it without a break. */
const SINCE = {
  signs_finals_since: 'final_mac',
  signs_holds_since: 'hold_mac',
} as const satisfies Record<string, NodeAbility>;
type Since = keyof typeof SINCE;

/** A control plane of a release that does not know the ability leaves the column as it is, and writes `abilities` without it: the column counts only beside its ability. */
export function sinceOf(column: Since): string {
  return `CASE WHEN '${SINCE[column]}' = ANY(abilities) THEN ${column} END`;
}

/** Sets each column for a node whose abilities become the SQL value `abilities`. */
export function setSince(abilities: string): string {
  return Object.entries(SINCE)
    .map(
      ([column, ability]) =>
        `${column} = CASE WHEN '${ability}' = ANY(${abilities}) THEN coalesce(${sinceOf(column as Since)}, now()) END`,
    )
    .join(', ');
}
