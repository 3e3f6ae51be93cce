import { formatAmount } from '@tollgate/money';
import { z } from 'zod';
import {
  amountText,
  currencyField,
  idField,
  timeField,
} from '../../platform/http/answer-fields.ts';
import { idFilter, listQuery } from '../../platform/http/list-query.ts';
import { walletCorrectionSchema } from '../wallet/wallet.dto.ts';
import type { Payout } from './payout.entity.ts';

const statusField = z
  .enum(['pending', 'paid', 'failed'])
  .describe('`paid`: the provider has accepted it; `failed`: the money is in the wallet again');

export const payoutsQuery = listQuery({
  sorts: ['id', 'created_at', 'amount'],
  sort: '-id',
  filters: { user_id: idFilter.optional(), status: statusField.optional() },
});
export type PayoutsQuery = z.output<typeof payoutsQuery>;

export const payoutSchema = z
  .object({
    id: idField,
    user_id: idField,
    payment_id: idField.describe('The payment that is paid back'),
    transaction_id: idField.describe('Of the ledger, by which the wallet gave the money'),
    provider: z.string(),
    provider_reference: z.string().nullable(),
    status: statusField,
    amount: amountText,
    currency: currencyField,
    failure: z.string().nullable().describe('Why the last attempt did not settle it'),
    created_at: timeField,
    settled_at: timeField.nullable(),
  })
  .meta({ id: 'Payout' });
export type PayoutResponse = z.output<typeof payoutSchema>;

export const withdrawalSchema = walletCorrectionSchema
  .extend({
    payouts: z
      .array(payoutSchema)
      .describe('One for each payment that is paid back; empty when paid out by hand'),
  })
  .meta({ id: 'WalletWithdrawal' });
export type WalletWithdrawal = z.output<typeof withdrawalSchema>;

export function toPayoutResponse(row: Payout): PayoutResponse {
  return {
    id: row.id,
    user_id: row.userId,
    payment_id: row.paymentId,
    transaction_id: row.transactionId,
    provider: row.provider,
    provider_reference: row.providerReference,
    status: row.status,
    amount: formatAmount(row.amount),
    currency: row.currency,
    failure: row.failure,
    created_at: row.createdAt.toISOString(),
    settled_at: row.settledAt?.toISOString() ?? null,
  };
}
