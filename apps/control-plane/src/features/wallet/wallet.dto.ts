import { formatAmount } from '@tollgate/money';
import { z } from 'zod';
import { positiveAmountField } from '../../platform/http/amount-field.ts';
import { idFilter, listQuery } from '../../platform/http/list-query.ts';
import type { LedgerEntry } from './ledger.entity.ts';

const LEDGER_KINDS = ['recharge', 'admin_recharge', 'subscribe', 'renew', 'auto_recharge', 'refund', 'forfeit', 'adjustment'] as const;

export const walletQuery = z.strictObject({ user_id: idFilter.optional() });
export type WalletQuery = z.output<typeof walletQuery>;

/** `from` is included, `to` is not. `format=csv` answers all matching entries as a file. */
export const walletLogsQuery = listQuery({
  sorts: ['id', 'created_at', 'amount'],
  sort: '-id',
  filters: {
    user_id: idFilter.optional(),
    kind: z.enum(LEDGER_KINDS).optional(),
    from: z.iso.datetime({ offset: true }).optional(),
    to: z.iso.datetime({ offset: true }).optional(),
    format: z.enum(['json', 'csv']).default('json'),
  },
});
export type WalletLogsQuery = z.output<typeof walletLogsQuery>;

export const adminRechargeBody = z.strictObject({
  user_id: z.number().int().positive().max(2_147_483_647),
  amount: positiveAmountField,
  note: z.string().trim().max(500).optional(),
});
export type AdminRechargeBody = z.output<typeof adminRechargeBody>;

export type WalletLogResponse = ReturnType<typeof toWalletLogResponse>;

export function toWalletLogResponse(row: LedgerEntry) {
  return {
    id: row.id,
    transaction_id: row.transaction.id,
    kind: row.transaction.kind,
    amount: formatAmount(row.amount),
    balance_after: formatAmount(row.balanceAfter),
    reference: row.transaction.reference,
    note: row.transaction.note,
    actor_user_id: row.transaction.actorUserId,
    created_at: row.transaction.createdAt.toISOString(),
  };
}
