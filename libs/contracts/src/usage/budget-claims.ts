/**
 * One budget that a request counts against. `period` names the budget's period in which the request was admitted, by the Unix second of its start; 0 for a budget
 * without periods; of a rolling budget, the bucket. `rate` converts charged tokens: units of the budget for a million of them, or 0 where the budget counts requests.
 */
export interface BudgetClaim {
  readonly budgetId: number;
  readonly period: number;
  readonly rate: number;
  /** Set where the budget counts tokens as reported: so many are held beside those of `rate`. Null elsewhere. */
  readonly base: number | null;
  /** Names the session or the end user that the budget counts by itself; '' where it counts all requests together. See `SCOPE_VALUE`. */
  readonly value: string;
}

/** Budgets that apply to one request: those of its key and those of its account. */
export const CLAIMS_MAX = 16;
/**
 * A session (`s`) or an end user (`u`) by its hash; `-` in place of the hash stands for requests that name none, `+` for those that come beyond the values that Redis counts.
 */
export const SCOPE_VALUE = /^[su](?:[0-9a-f]{31}|[-+])$/;
const CLAIM = String.raw`[1-9]\d{0,9}:\d{1,10}:\d{1,16}(?:\+\d{1,16})?(?::[su](?:[0-9a-f]{31}|[-+]))?`;
/** `<budget>:<period>:<rate>`, with `+<base>` and `:<value>` behind it for some, comma-separated: how holds, journals and finals carry claims. */
export const CLAIMS_TEXT = new RegExp(`^${CLAIM}(?:,${CLAIM}){0,${CLAIMS_MAX - 1}}$`);
/** The rate of a budget that counts charged tokens. */
export const RATE_OF_TOKENS = 1_000_000;

export function readClaims(text: string): BudgetClaim[] {
  if (text === '') return [];
  return text.split(',').map((claim) => {
    const [budgetId, period, rates = '', value = ''] = claim.split(':');
    const [rate, base] = rates.split('+');
    return {
      budgetId: Number(budgetId),
      period: Number(period),
      rate: Number(rate),
      base: base === undefined ? null : Number(base),
      value,
    };
  });
}

type Rates = Pick<BudgetClaim, 'rate' | 'base'>;

/** Units of a budget for so many charged tokens, rounded up. `claim_units` of Lua computes the same doubles. */
export function claimUnits({ rate, base }: Rates, tokens: number): number {
  if (rate === 0) return base ?? 1;
  const millions = Math.floor(tokens / RATE_OF_TOKENS);
  const rest = tokens - millions * RATE_OF_TOKENS;
  return (base ?? 0) + millions * rate + Math.ceil((rest * rate) / RATE_OF_TOKENS);
}

/**
 * Units of a budget that a request has used: `reported` plain tokens where the budget counts those. Null for a reap, which knows only what it charged: as much is
 * counted as could be held for that. `used_units` of Lua computes the same.
 */
export function usedUnits(claim: Rates, tokens: number, reported: number | null): number {
  if (claim.base === null) return claimUnits(claim, tokens);
  return reported ?? (tokens === 0 ? 0 : claimUnits(claim, tokens));
}
