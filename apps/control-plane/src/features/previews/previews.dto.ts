import { chargedTokenFields, weightFields } from '@tollgate/contracts';
import { z } from 'zod';
import {
  amountText,
  countField,
  currencyField,
  idField,
  timeField,
  tokensField,
} from '../../platform/http/answer-fields.ts';
import { amountQuery } from '../../platform/http/amount-field.ts';
import { idFilter } from '../../platform/http/list-query.ts';
import {
  AMOUNT_RANGE,
  BUDGET_UNITS,
  budgetModels,
  budgetZone,
  unitsText,
  WINDOW_MINUTES,
} from '../budgets/budgets.dto.ts';
import { BUDGET_PERIODS } from '../budgets/calendar.ts';
import { chargeLineSchema } from '../usage/api/usage-answers.ts';

const TOKENS_MAX = 1_000_000_000_000;
/** Bounds the tokens of one class in an example request, so that even with the largest weights their sum is exact. */
const CLASS_TOKENS_MAX = 1_000_000_000;
const classTokens = z.coerce.number().int().min(0).max(CLASS_TOKENS_MAX).default(0);
const exampleRequest = {
  model_id: idFilter,
  ...chargedTokenFields(classTokens),
};

const ONE_OF_BOTH = 'either tokens or amount, not both';
export const SAY_TOKENS = 'this model is free; say how many tokens instead';

export const purchaseQuery = z
  .strictObject({
    model_id: idFilter,
    user_id: idFilter.optional().describe('Administrators: the account that would buy'),
    tokens: z.coerce
      .number()
      .int()
      .min(1)
      .max(TOKENS_MAX)
      .optional()
      .meta({ 'x-rules': [ONE_OF_BOTH] }),
    amount: amountQuery.optional().meta({
      description: 'Money to spend; as many tokens as it buys',
      'x-rules': [SAY_TOKENS],
    }),
  })
  .refine((query) => (query.tokens === undefined) !== (query.amount === undefined), {
    path: ['tokens'],
    message: ONE_OF_BOTH,
  });
export type PurchaseQuery = z.output<typeof purchaseQuery>;

export const refundQuery = z.strictObject({
  model_id: idFilter,
  user_id: idFilter.optional().describe('Administrators: the account that would unsubscribe'),
});
export type RefundQuery = z.output<typeof refundQuery>;

export const modelRemovalQuery = z.strictObject({ model_id: idFilter });
export type ModelRemovalQuery = z.output<typeof modelRemovalQuery>;

export const chargeQuery = z.strictObject(exampleRequest);
export type ChargeQuery = z.output<typeof chargeQuery>;

const WEIGHT_MAX = 1_000_000_000_000n;
const weight = amountQuery
  .refine((value) => value <= WEIGHT_MAX, 'must be at most 1000000')
  .optional();

/** An absent field keeps its value. */
export const priceChangeQuery = z.strictObject({
  ...exampleRequest,
  price_per_million: amountQuery.optional(),
  ...weightFields(weight),
});
export type PriceChangeQuery = z.output<typeof priceChangeQuery>;

const WINDOW_OF_ROLLING = 'is for the period rolling, which needs it';
/** Describes the fields of a budget of a key or an account. */
export const budgetQuery = z
  .strictObject({
    user_id: idFilter.optional().describe('Administrators: the account'),
    key_id: idFilter.optional().describe('A key with its later rotations; else the whole account'),
    unit: z.enum(BUDGET_UNITS),
    amount: z
      .string()
      .max(32)
      .regex(/^\d{1,16}(\.\d{1,6})?$/)
      .meta({ 'x-rules': [AMOUNT_RANGE] }),
    models: budgetModels.default(''),
    period: z.enum(BUDGET_PERIODS).default('day'),
    window_minutes: z.coerce
      .number()
      .int()
      .min(WINDOW_MINUTES.min)
      .max(WINDOW_MINUTES.max)
      .optional(),
    time_zone: budgetZone,
  })
  .refine((query) => (query.period === 'rolling') === (query.window_minutes !== undefined), {
    path: ['window_minutes'],
    message: WINDOW_OF_ROLLING,
  });
export type BudgetQuery = z.output<typeof budgetQuery>;

export const budgetPreviewSchema = z
  .object({
    from: timeField,
    to: timeField.describe('The day before today by the clocks of `time_zone`'),
    requests: countField.describe('Of its models, as far as they are booked'),
    used: unitsText.describe('Of that day alone, whatever the period'),
    most: unitsText.describe(
      'That counted together at one moment; less than `used` only where it is rolling',
    ),
    amount: unitsText,
    refused: countField.describe('Requests that came when more than the amount counted'),
  })
  .meta({ id: 'BudgetPreview' });
export type BudgetPreview = z.output<typeof budgetPreviewSchema>;

export const purchasePreviewSchema = z
  .object({
    model_id: idField,
    model: z.string(),
    user_id: idField,
    tokens: tokensField,
    cost: amountText,
    currency: currencyField,
    price_per_million: amountText,
    is_subscribed: z.boolean().describe('false: `subscribe` buys them; true: `renew`'),
    tokens_after: tokensField.describe('Of the subscription'),
    wallet_before: amountText,
    wallet_after: amountText.describe('Negative by what is missing'),
    is_affordable: z.boolean(),
  })
  .meta({ id: 'PurchasePreview' });
export type PurchasePreview = z.output<typeof purchasePreviewSchema>;

export const refundPreviewSchema = z
  .object({
    model_id: idField,
    model: z.string(),
    user_id: idField,
    refunded_tokens: tokensField,
    refunded_amount: amountText,
    currency: currencyField,
    held_tokens: tokensField.describe(
      'Set aside for running requests; what they leave is refunded when they end',
    ),
    keys_affected: countField.describe('Enabled keys that may call this model now'),
    wallet_after: amountText,
    is_live: z
      .boolean()
      .describe('false while Redis does not answer: without what was used a moment ago'),
  })
  .meta({ id: 'RefundPreview' });
export type RefundPreview = z.output<typeof refundPreviewSchema>;

export const modelRemovalPreviewSchema = z
  .object({
    model_id: idField,
    model: z.string(),
    subscriptions: countField.describe('Open ones, which `refund` closes'),
    refunded_tokens: tokensField.describe(
      'Of all of them, by the ledger: without what was used a moment ago',
    ),
    refunded_amount: amountText,
    currency: currencyField,
  })
  .meta({ id: 'ModelRemovalPreview' });
export type ModelRemovalPreview = z.output<typeof modelRemovalPreviewSchema>;

const charge = {
  price_per_million: amountText,
  lines: z.array(chargeLineSchema),
  sum: amountText.describe('Before the one rounding up'),
  charged_tokens: tokensField,
  cost: amountText.describe('Of so many charged tokens at this price'),
};
export const chargePreviewSchema = z
  .object({ model_id: idField, model: z.string(), currency: currencyField, ...charge })
  .meta({ id: 'ChargePreview' });
export type ChargePreview = z.output<typeof chargePreviewSchema>;
const chargeAtPrice = z.object(charge).meta({ id: 'ChargeAtPrice' });
export type ChargeAtPrice = z.output<typeof chargeAtPrice>;

export const priceChangePreviewSchema = z
  .object({
    model_id: idField,
    model: z.string(),
    currency: currencyField,
    before: chargeAtPrice.nullable().describe('null: the model has no price yet'),
    after: chargeAtPrice,
    cost_difference: amountText.nullable(),
    charged_tokens_difference: tokensField.nullable(),
  })
  .meta({ id: 'PriceChangePreview' });
export type PriceChangePreview = z.output<typeof priceChangePreviewSchema>;
