import { CHARGED_TOKEN_FIELDS } from '@tollgate/contracts';

/** The columns that roll-ups and totals of usage sum, beside their histograms. */
export const SUMMED_COLUMNS = ['requests', 'errors', 'charge', ...CHARGED_TOKEN_FIELDS] as const;
export type SummedColumn = (typeof SUMMED_COLUMNS)[number];
