import { formatAmount } from '@tollgate/money';
import { z } from 'zod';
import { INTEGER_MAX } from '../../platform/database/integer-max.ts';
import {
  amountText,
  currencyField,
  idField,
  timeField,
} from '../../platform/http/answer-fields.ts';
import { positiveAmountField, signedAmountField } from '../../platform/http/amount-field.ts';
import { idFilter, listQuery, momentField } from '../../platform/http/list-query.ts';
import { noteText, optionalNoteText } from '../../platform/http/text-field.ts';
import type { LedgerEntry } from './ledger.entity.ts';

const LEDGER_KINDS = [
  'recharge',
  'admin_recharge',
  'subscribe',
  'renew',
  'auto_recharge',
  'refund',
  'forfeit',
  'adjustment',
  'payout',
  'payout_return',
] as const;

export const walletQuery = z.strictObject({ user_id: idFilter.optional() });
export type WalletQuery = z.output<typeof walletQuery>;

/** `from` is inclusive, `to` is exclusive. `format=csv` returns all matching entries as a file. */
export const walletLogsQuery = listQuery({
  sorts: ['id', 'created_at', 'amount'],
  sort: '-id',
  filters: {
    user_id: idFilter.optional(),
    kind: z.enum(LEDGER_KINDS).optional(),
    from: momentField.optional(),
    to: momentField.optional(),
    format: z.enum(['json', 'csv']).default('json'),
  },
});
export type WalletLogsQuery = z.output<typeof walletLogsQuery>;

export const adminRechargeBody = z
  .strictObject({
    user_id: z.number().int().positive().max(INTEGER_MAX),
    amount: positiveAmountField,
    note: optionalNoteText(500).trim().optional(),
  })
  .meta({ 'x-example': { user_id: 1, amount: '20', note: 'Welcome' } });
export type AdminRechargeBody = z.output<typeof adminRechargeBody>;

const note = noteText(500);
export const adjustBody = z
  .strictObject({
    user_id: z.number().int().positive().max(INTEGER_MAX),
    /** A negative amount takes money out of the wallet. */
    amount: signedAmountField,
    note,
  })
  .meta({
    'x-example': { user_id: 1, amount: '-0.5', note: 'Typing error in the recharge of 3 May' },
  });
export type AdjustBody = z.output<typeof adjustBody>;

export const withdrawBody = z
  .strictObject({
    user_id: z.number().int().positive().max(INTEGER_MAX),
    amount: positiveAmountField,
    /** Says how the money was paid out, for example the reference of the bank transfer, or why it is paid back. */
    note,
    to: z
      .enum(['hand', 'provider'])
      .default('hand')
      .describe(
        '`hand` books money that was paid out elsewhere; `provider` pays back through the payment provider, at most what the account paid in there',
      ),
  })
  .meta({ 'x-example': { user_id: 1, amount: '5', note: 'Bank transfer 4711' } });
export type WithdrawBody = z.output<typeof withdrawBody>;

export const walletResponseSchema = z
  .object({
    balance: amountText,
    currency: currencyField,
    payments: z
      .enum(['none', 'sandbox', 'stripe'])
      .describe('Who takes payments for `recharge`; none: administrators credit wallets'),
  })
  .meta({ id: 'Wallet' });
export type WalletResponse = z.output<typeof walletResponseSchema>;

const moved = {
  transaction_id: idField,
  user_id: idField,
  amount: amountText,
  balance: amountText.describe('After it'),
  currency: currencyField,
};
export const adminRechargeResponseSchema = z.object(moved);
export const walletCorrectionSchema = z.object(moved).meta({ id: 'WalletCorrection' });
export type WalletCorrection = z.output<typeof walletCorrectionSchema>;
export type AdminRechargeResponse = z.output<typeof adminRechargeResponseSchema>;

export const walletLogResponseSchema = z
  .object({
    id: idField,
    transaction_id: idField,
    kind: z.enum(LEDGER_KINDS),
    amount: amountText.describe('Negative where money left the wallet'),
    balance_after: amountText,
    reference: z.string(),
    note: z.string().nullable(),
    actor_role: z
      .enum(['system', 'owner', 'administrator'])
      .describe('Who did it: the system, the owner of the wallet, or another account'),
    actor_user_id: idField
      .nullable()
      .describe('Null for the system; users see no account but their own'),
    actor_name: z.string().nullable().describe('For administrators; null for users'),
    model_id: idField
      .nullable()
      .describe('Whose tokens were bought or given back; null for other movements'),
    model: z.string().nullable().describe('Its name'),
    created_at: timeField,
  })
  .meta({ id: 'WalletEntry' });
export type WalletLogResponse = z.output<typeof walletLogResponseSchema>;

export type LogActor = Pick<WalletLogResponse, 'actor_role' | 'actor_user_id' | 'actor_name'>;

/** Converts an entry; `model` names the model whose tokens moved with the money. */
export function toWalletLogResponse(
  row: LedgerEntry,
  { model, actor }: { model: { id: number; name: string } | undefined; actor: LogActor },
): WalletLogResponse {
  return {
    id: row.id,
    transaction_id: row.transaction.id,
    kind: row.transaction.kind,
    amount: formatAmount(row.amount),
    balance_after: formatAmount(row.balanceAfter),
    reference: row.transaction.reference,
    note: row.transaction.note,
    ...actor,
    model_id: model?.id ?? null,
    model: model?.name ?? null,
    created_at: row.transaction.createdAt.toISOString(),
  };
}
