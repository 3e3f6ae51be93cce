/**
 * One budget that a request counts against. `period` names the budget's period in which the request was admitted, by the Unix second of its start; 0 for a budget
 * without periods. `rate` converts charged tokens: units of the budget for a million of them, or 0 where the budget counts requests.
 */
export interface BudgetClaim {
  readonly budgetId: number;
  readonly period: number;
  readonly rate: number;
}

/** Budgets that apply to one request: those of its key and those of its account. */
export const CLAIMS_MAX = 16;
/** `<budget>:<period>:<rate>`, comma-separated: how holds, journals and finals carry claims. */
export const CLAIMS_TEXT = new RegExp(
  `^[1-9]\\d{0,9}:\\d{1,10}:\\d{1,16}(?:,[1-9]\\d{0,9}:\\d{1,10}:\\d{1,16}){0,${CLAIMS_MAX - 1}}$`,
);
/** The rate of a budget that counts charged tokens. */
export const RATE_OF_TOKENS = 1_000_000;

export function readClaims(text: string): BudgetClaim[] {
  if (text === '') return [];
  return text.split(',').map((claim) => {
    const [budgetId = 0, period = 0, rate = 0] = claim.split(':').map(Number);
    return { budgetId, period, rate };
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
