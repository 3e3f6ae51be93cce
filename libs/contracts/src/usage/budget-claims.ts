/**
 * One budget that a request counts against. `period` names the budget's period in which the request was admitted, by the Unix second of its start; 0 for a budget
 * without periods. `rate` converts charged tokens: units of the budget for a million of them, or 0 where the budget counts requests.
 */
export interface BudgetClaim {
  readonly budgetId: number;
  readonly period: number;
  readonly rate: number;
  /** Names the session or the end user that the budget counts by itself; '' where it counts all requests together. See `SCOPE_VALUE`. */
  readonly value: string;
}

/** Budgets that apply to one request: those of its key and those of its account. */
export const CLAIMS_MAX = 16;
/**
 * A session (`s`) or an end user (`u`) by its hash; `-` in place of the hash stands for requests that name none, `+` for those that come beyond the values that Redis counts.
 */
export const SCOPE_VALUE = /^[su](?:[0-9a-f]{31}|[-+])$/;
const CLAIM = String.raw`[1-9]\d{0,9}:\d{1,10}:\d{1,16}(?::[su](?:[0-9a-f]{31}|[-+]))?`;
/** `<budget>:<period>:<rate>`, with `:<value>` behind it for some, comma-separated: how holds, journals and finals carry claims. */
export const CLAIMS_TEXT = new RegExp(`^${CLAIM}(?:,${CLAIM}){0,${CLAIMS_MAX - 1}}$`);
/** The rate of a budget that counts charged tokens. */
export const RATE_OF_TOKENS = 1_000_000;

export function readClaims(text: string): BudgetClaim[] {
  if (text === '') return [];
  return text.split(',').map((claim) => {
    const [budgetId, period, rate, value = ''] = claim.split(':');
    return { budgetId: Number(budgetId), period: Number(period), rate: Number(rate), value };
  });
}

/** Units of a budget for so many charged tokens, rounded up. `claim_units` of Lua computes the same doubles. */
export function claimUnits(rate: number, tokens: number): number {
  if (rate === 0) return 1;
  const millions = Math.floor(tokens / RATE_OF_TOKENS);
  return (
    millions * rate + Math.ceil(((tokens - millions * RATE_OF_TOKENS) * rate) / RATE_OF_TOKENS)
  );
}
