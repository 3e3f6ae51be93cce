import { formatAmount } from '@tollgate/money';
import { z } from 'zod';
import { INTEGER_MAX } from '../../platform/database/integer-max.ts';
import {
  amountText,
  currencyField,
  idField,
  timeField,
} from '../../platform/http/answer-fields.ts';
import { positiveAmountField } from '../../platform/http/amount-field.ts';
import { idFilter, listQuery } from '../../platform/http/list-query.ts';
import type { Payment } from './payment.entity.ts';

export const rechargeBody = z
  .strictObject({
    amount: positiveAmountField,
    /** Administrators name the account of the wallet. */
    user_id: z.number().int().positive().max(INTEGER_MAX).optional(),
  })
  .meta({ 'x-example': { amount: '20' } });
export type RechargeBody = z.output<typeof rechargeBody>;

const statusField = z.enum(['open', 'paid', 'failed']);

export const paymentsQuery = listQuery({
  sorts: ['id', 'created_at', 'amount'],
  sort: '-id',
  filters: { user_id: idFilter.optional(), status: statusField.optional() },
});
export type PaymentsQuery = z.output<typeof paymentsQuery>;

export const paymentResponseSchema = z
  .object({
    id: idField,
    user_id: idField,
    provider: z.string(),
    status: statusField,
    amount: amountText,
    currency: currencyField,
    checkout_url: z.string().nullable().describe('Where to pay; null when it is paid'),
    balance: amountText
      .nullable()
      .describe("The wallet's after the credit; null while the payment is open"),
    created_at: timeField,
  })
  .meta({ id: 'Payment' });
export type PaymentResponse = z.output<typeof paymentResponseSchema>;

export function toPaymentResponse(
  row: Payment,
  { checkoutUrl, balance }: { checkoutUrl: string | null; balance: bigint | null },
): PaymentResponse {
  return {
    id: row.id,
    user_id: row.userId,
    provider: row.provider,
    status: row.status,
    amount: formatAmount(row.amount),
    currency: row.currency,
    checkout_url: checkoutUrl,
    balance: balance === null ? null : formatAmount(balance),
    created_at: row.createdAt.toISOString(),
  };
}

export const paymentEntrySchema = z
  .object({
    id: idField,
    user_id: idField,
    provider: z.string(),
    provider_reference: z
      .string()
      .nullable()
      .describe("The provider's own id; null until the provider gave one"),
    status: statusField,
    amount: amountText,
    currency: currencyField,
    created_by: idField.nullable().describe('The account that started it'),
    created_at: timeField,
    paid_at: timeField.nullable(),
  })
  .meta({ id: 'PaymentEntry' });
export type PaymentEntry = z.output<typeof paymentEntrySchema>;

export function toPaymentEntry(row: Payment): PaymentEntry {
  return {
    id: row.id,
    user_id: row.userId,
    provider: row.provider,
    provider_reference: row.providerReference,
    status: row.status,
    amount: formatAmount(row.amount),
    currency: row.currency,
    created_by: row.createdBy,
    created_at: row.createdAt.toISOString(),
    paid_at: row.paidAt?.toISOString() ?? null,
  };
}
