import { z } from 'zod';
import { INTEGER_MAX } from '../../platform/database/integer-max.ts';
import {
  amountText,
  currencyField,
  idField,
  timeField,
  tokensField,
} from '../../platform/http/answer-fields.ts';
import { booleanFilter, idFilter, listQuery } from '../../platform/http/list-query.ts';

/** Bounds a purchase, threshold or amount far below 2^53, so that sums stay exact. */
const TOKENS_MAX = 1_000_000_000_000;

const id = z.number().int().positive().max(INTEGER_MAX);
const tokens = z.number().int().min(0).max(TOKENS_MAX);

export const subscribeSchema = z
  .strictObject({
    model_id: id,
    tokens,
    auto_recharge_threshold: tokens.nullable().optional(),
    auto_recharge_amount: tokens.nullable().optional(),
    /** Administrators name the account to act for. */
    user_id: id.optional(),
  })
  .refine((body) => isBothOrNeither(body.auto_recharge_threshold, body.auto_recharge_amount), {
    path: ['auto_recharge_amount'],
    message: 'set both auto_recharge_threshold and auto_recharge_amount, or neither',
  })
  .meta({ 'x-example': { model_id: 1, tokens: 1_000_000 } });
export type Subscribe = z.infer<typeof subscribeSchema>;

export const renewSchema = z
  .strictObject({
    model_id: id,
    tokens: tokens.min(1),
    user_id: id.optional(),
  })
  .meta({ 'x-example': { model_id: 1, tokens: 1_000_000 } });
export type Renew = z.infer<typeof renewSchema>;

export const unsubscribeSchema = z
  .strictObject({ model_id: id, user_id: id.optional() })
  .meta({ 'x-example': { model_id: 1 } });
export type Unsubscribe = z.infer<typeof unsubscribeSchema>;

/** `?drain=true` lets running streams finish. */
export const drainQuery = z.strictObject({ drain: booleanFilter.optional() });
export type DrainQuery = z.infer<typeof drainQuery>;

/** An `amount` of 0, or null for both fields, turns auto-recharge off. */
export const autoRechargeSchema = z
  .strictObject({
    model_id: id,
    threshold: tokens.nullable(),
    amount: tokens.nullable(),
    user_id: id.optional(),
  })
  .refine((body) => isBothOrNeither(body.threshold, body.amount), {
    path: ['amount'],
    message: 'set both threshold and amount, or neither',
  })
  .meta({ 'x-example': { model_id: 1, threshold: 100_000, amount: 1_000_000 } });
export type SetAutoRecharge = z.infer<typeof autoRechargeSchema>;

export const myModelsSchema = listQuery({
  sorts: ['id', 'model_id', 'created_at'],
  sort: 'model_id',
  filters: { user_id: idFilter.optional() },
});
export type MyModels = z.infer<typeof myModelsSchema>;

const SUBSCRIPTION_STATUSES = ['active', 'closing', 'closed'] as const;

const subscriptionResponseSchema = z
  .object({
    id: idField,
    user_id: idField,
    model_id: idField,
    model: z.string(),
    status: z.enum(SUBSCRIPTION_STATUSES),
    tokens: tokensField.describe(
      'Balance less overdraft according to the ledger, at the time of this response; negative while debt is left',
    ),
    auto_recharge_threshold: tokensField.nullable(),
    auto_recharge_amount: tokensField.nullable(),
    created_at: timeField,
  })
  .meta({ id: 'Subscription' });
export type SubscriptionResponse = z.output<typeof subscriptionResponseSchema>;

export const autoRechargeResponseSchema = subscriptionResponseSchema
  .extend({
    threshold: tokensField.nullable(),
    amount: tokensField.nullable().describe('0 or null = off'),
  })
  .meta({ id: 'AutoRecharge' });
export type AutoRechargeResponse = z.output<typeof autoRechargeResponseSchema>;

export const purchaseResponseSchema = subscriptionResponseSchema
  .extend({ cost: amountText, currency: currencyField })
  .meta({ id: 'Purchase' });
export type PurchaseResponse = z.output<typeof purchaseResponseSchema>;

export const myModelResponseSchema = subscriptionResponseSchema
  .extend({
    tokens: tokensField.describe('Live balance; negative while debt is left'),
    is_on_shelf: z.boolean(),
    held: tokensField.nullable().describe('By running requests; null while Redis does not answer'),
    as_of: timeField
      .nullable()
      .describe(
        'null = live; otherwise the time of the ledger balance, which is used while Redis does not answer',
      ),
  })
  .meta({ id: 'MyModel' });
export type MyModelResponse = z.output<typeof myModelResponseSchema>;

export const unsubscribeResponseSchema = z.object({
  model_id: idField,
  status: z
    .enum(SUBSCRIPTION_STATUSES)
    .describe(
      '`closing` while running requests still hold tokens or Redis does not answer; the rest follows automatically',
    ),
  refunded_tokens: tokensField.describe(
    'What left the subscription now; tokens that running requests still hold are refunded as they are released',
  ),
  refunded_amount: amountText,
  currency: currencyField,
});
export type UnsubscribeResponse = z.output<typeof unsubscribeResponseSchema>;

function isBothOrNeither(...pair: (number | null | undefined)[]): boolean {
  const given = pair.filter((one) => one !== null && one !== undefined);
  return given.length !== 1;
}
