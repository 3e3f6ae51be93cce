export const UNREADABLE = Symbol('unreadable');

/** Absurd counts would overflow the ledger long before any model could produce them. */
const TOKENS_MAX = 2 ** 40;

/** The first of several aliases that is given: a count, null when none is, UNREADABLE when it is no non-negative integer. */
export function tokenCount(...aliases: readonly unknown[]): number | null | typeof UNREADABLE {
  const value = aliases.find((alias) => alias !== undefined && alias !== null);
  if (value === undefined) return null;
  return typeof value === 'number' &&
    Number.isInteger(value) &&
    value >= 0 &&
    !Object.is(value, -0) &&
    value <= TOKENS_MAX
    ? value
    : UNREADABLE;
}

export type TokenCount = ReturnType<typeof tokenCount>;

/** The count of a side of a report, of which these figures are parts; UNREADABLE where one of them is. */
export function sideCount(count: TokenCount, ...parts: readonly TokenCount[]): TokenCount {
  return parts.includes(UNREADABLE) ? UNREADABLE : count;
}

/** 0 where it is missing or unreadable. */
export function countOrNone(count: TokenCount): number {
  return count === UNREADABLE ? 0 : (count ?? 0);
}
