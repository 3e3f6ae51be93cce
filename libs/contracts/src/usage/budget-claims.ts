/**
 * Describes one budget that a request counts against. `period` is the Unix second at which the budget's period of admission begins; 0 for a budget
 * without periods, and the bucket for a rolling budget. `rate` converts charged tokens: units of the budget per million of them, or 0 where the
 * budget counts requests.
 */
export interface BudgetClaim {
  readonly budgetId: number;
  readonly period: number;
  readonly rate: number;
  /** Counts the held tokens beside those of `rate`, where the budget counts reported tokens; null elsewhere. */
  readonly base: number | null;
  /** Names the session or end user that the budget counts separately; '' where it counts all requests together. See `SCOPE_VALUE`. */
  readonly value: string;
}

/** Limits how many budgets, of its key and its account together, apply to one request. */
export const CLAIMS_MAX = 16;
/**
 * Matches a session (`s`) or an end user (`u`) by its hash. `-` in place of the hash stands for requests that name none, `+` for values beyond those
 * that Redis counts.
 */
export const SCOPE_VALUE = /^[su](?:[0-9a-f]{31}|[-+])$/;
const CLAIM = String.raw`[1-9]\d{0,9}:\d{1,10}:\d{1,16}(?:\+\d{1,16})?(?::[su](?:[0-9a-f]{31}|[-+]))?`;
/**
 * Matches claims as holds, journals and finals carry them: `<budget>:<period>:<rate>`, optionally followed by `+<base>` and `:<value>`, separated by
 * commas.
 */
export const CLAIMS_TEXT = new RegExp(`^${CLAIM}(?:,${CLAIM}){0,${CLAIMS_MAX - 1}}$`);
/** Is the rate of a budget that counts charged tokens. */
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

/** Returns the units of a budget for this many charged tokens, rounded up. `claim_units` in Lua computes the same doubles. */
export function claimUnits({ rate, base }: Rates, tokens: number): number {
  if (rate === 0) return base ?? 1;
  const millions = Math.floor(tokens / RATE_OF_TOKENS);
  const rest = tokens - millions * RATE_OF_TOKENS;
  return (base ?? 0) + millions * rate + Math.ceil((rest * rate) / RATE_OF_TOKENS);
}

/**
 * Returns the units of a budget that a request has used. `reported` are its plain tokens, for a budget that counts them. It is null for a reap, which
 * knows only its charge; the units that could be held for that charge count then. `used_units` in Lua computes the same.
 */
export function usedUnits(claim: Rates, tokens: number, reported: number | null): number {
  if (claim.base === null) return claimUnits(claim, tokens);
  return reported ?? (tokens === 0 ? 0 : claimUnits(claim, tokens));
}
