import { formatAmount } from '@tollgate/money';
import { z } from 'zod';
import { positiveAmountField } from '../../platform/http/amount-field.ts';
import type { Payment } from './payment.entity.ts';

export const rechargeBody = z.strictObject({
  amount: positiveAmountField,
  /** Administrators only: whose wallet. */
  user_id: z.number().int().positive().max(2_147_483_647).optional(),
});
export type RechargeBody = z.output<typeof rechargeBody>;

export type PaymentResponse = ReturnType<typeof toPaymentResponse>;

/** `balance` is the wallet's after the credit, null while the payment is open. */
export function toPaymentResponse(row: Payment, { checkoutUrl, balance }: { checkoutUrl: string | null; balance: bigint | null }) {
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
