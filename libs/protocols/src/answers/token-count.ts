export const UNREADABLE = Symbol('unreadable');

/** An impossibly large count would overflow the ledger long before any model could produce it. */
const TOKENS_MAX = 2 ** 40;

/** Returns the first present alias: a count, null when none is present, UNREADABLE when it is not a non-negative integer. */
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

/** Returns the count of a side, of which these figures are parts; UNREADABLE when one of them is. */
export function sideCount(count: TokenCount, ...parts: readonly TokenCount[]): TokenCount {
  return parts.includes(UNREADABLE) ? UNREADABLE : count;
}

/** Returns 0 for a missing or unreadable count. */
export function countOrNone(count: TokenCount): number {
  return count === UNREADABLE ? 0 : (count ?? 0);
}
