import { CHARGED_TOKEN_FIELDS, isChargedToken, USAGE_ROWS } from '@tollgate/contracts';

/** Lists the columns that roll-ups and totals of usage sum; histograms are separate. */
export const SUMMED_COLUMNS = ['requests', 'errors', 'charge', ...CHARGED_TOKEN_FIELDS] as const;
export type SummedColumn = (typeof SUMMED_COLUMNS)[number];

/** Computes `ratedTokensOf` in SQL for a row `u` of usage. */
export const RATED_TOKENS = USAGE_ROWS.filter(isChargedToken)
  .map(({ field }) => `coalesce(u.${field}, 0)`)
  .join(' + ');
