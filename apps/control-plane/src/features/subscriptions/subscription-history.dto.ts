import { z } from 'zod';
import {
  amountText,
  currencyField,
  idField,
  timeField,
  tokensField,
} from '../../platform/http/answer-fields.ts';
import { cursorQuery } from '../../platform/http/cursor.ts';
import { momentField } from '../../platform/http/list-query.ts';

const ENTRY_KINDS = ['credit', 'usage', 'withdrawal', 'reconciliation'] as const;
const PURCHASE_KINDS = ['subscribe', 'renew', 'auto_recharge', 'grant'] as const;

export const tokenLotsQuery = cursorQuery({});
export type TokenLotsQuery = z.output<typeof tokenLotsQuery>;

/** `from` is inclusive, `to` is exclusive. `format=csv` returns all matching entries as a file. */
export const tokenEntriesQuery = cursorQuery({
  kind: z.enum(ENTRY_KINDS).optional(),
  from: momentField.optional(),
  to: momentField.optional(),
  format: z.enum(['json', 'csv']).default('json'),
});
export type TokenEntriesQuery = z.output<typeof tokenEntriesQuery>;

export const tokenLotSchema = z
  .object({
    id: idField,
    number: z.int().describe('Purchases of a subscription are numbered from 1'),
    kind: z.enum(PURCHASE_KINDS),
    tokens: tokensField.describe('Bought'),
    remaining: tokensField,
    used: tokensField.describe('By requests; usage takes the oldest lots first'),
    withdrawn: tokensField.describe('Given back; withdrawals take the newest lots first'),
    cost: amountText,
    refunded: amountText.describe('Of the cost'),
    currency: currencyField,
    created_at: timeField,
  })
  .meta({ id: 'TokenLot' });
export type TokenLot = z.output<typeof tokenLotSchema>;

export const tokenEntrySchema = z
  .object({
    id: idField,
    kind: z.enum(ENTRY_KINDS),
    tokens: tokensField.describe('Negative where tokens left the subscription'),
    balance_after: tokensField,
    reference: z
      .string()
      .describe(
        'What moved them, e.g. `credit:3` = purchase number 3, `usage:…` = a batch of requests',
      ),
    created_at: timeField,
  })
  .meta({ id: 'TokenEntry' });
export type TokenEntry = z.output<typeof tokenEntrySchema>;
