import { z } from 'zod';
import { SCOPE_KINDS, type ScopeKind } from '@tollgate/keyspace';
import { formatAmount, InvalidAmount, parseAmount } from '@tollgate/money';
import { INTEGER_MAX } from '../../platform/database/integer-max.ts';
import { idField, timeField } from '../../platform/http/answer-fields.ts';
import { idFilter, listQuery } from '../../platform/http/list-query.ts';
import { modelGlobs } from '../../platform/http/model-globs.ts';
import { noteText } from '../../platform/http/text-field.ts';
import { BUDGET_PERIODS, isTimeZone } from './calendar.ts';

export const BUDGET_UNITS = ['charged_tokens', 'tokens', 'money', 'requests'] as const;
export type BudgetUnit = (typeof BUDGET_UNITS)[number];
/** Names what a budget counts: requests, or purchases of auto-recharge. */
export const BUDGETS_OF = ['usage', 'purchases'] as const;
export const BUDGET_ACTIONS = ['refuse', 'fallback', 'notify'] as const;

/** The limit applies to the budgets of one key and to those of one account. Both sets apply to a request. */
export const BUDGETS_PER_SCOPE_MAX = 8;
const REASON_CHARS_MAX = 500;
const MODELS_CHARS_MAX = 1_000;
const PERCENTAGES_MAX = 5;
const ZONE_CHARS_MAX = 64;

const UNKNOWN_ZONE = 'is no time zone of the IANA database, such as Europe/Berlin';
export const AMOUNT_RANGE =
  'must be a whole number from 0 to 9007199254740991; for money a decimal';

const id = z.number().int().positive().max(INTEGER_MAX);
/** The amount is read with the unit. */
const amount = z
  .union(
    [
      z.string().regex(/^\d{1,16}(\.\d{1,6})?$/, AMOUNT_RANGE),
      z.number().nonnegative(AMOUNT_RANGE),
    ],
    AMOUNT_RANGE,
  )
  .describe('Units of one period. Money is decimal text in the currency of the installation')
  .meta({ 'x-rules': [AMOUNT_RANGE] });
const reason = noteText(REASON_CHARS_MAX);
export const budgetModels = modelGlobs(MODELS_CHARS_MAX).describe(
  'Comma-separated names of models, in which * stands for any text; empty = all models',
);
const action = z
  .enum(BUDGET_ACTIONS)
  .describe(
    'refuse: requests that do not fit are refused. fallback: a model that their model falls back on with the condition budget answers them; without one they are refused. notify: it only counts and alerts',
  );
const notifyAt = z
  .array(z.number().int().min(1).max(100))
  .max(PERCENTAGES_MAX)
  .describe('Percentages of the amount, each of which raises an alert once a period');

const unit = z
  .enum(BUDGET_UNITS)
  .describe('charged_tokens: by the weights of prices. tokens: as reported, whatever their weight');
/** A window lasts from 5 minutes to 90 days. */
export const WINDOW_MINUTES = { min: 5, max: 129_600 } as const;
const windowMinutes = z.number().int().min(WINDOW_MINUTES.min).max(WINDOW_MINUTES.max);
export const budgetZone = z
  .string()
  .max(ZONE_CHARS_MAX)
  .refine(isTimeZone, UNKNOWN_ZONE)
  .default('UTC')
  .describe('Of the IANA database: periods begin by its clocks');

const ofKey = z.strictObject({ key_id: id });
const ofAccount = z.strictObject({ user_id: id });
const owner = z.union([ofKey, ofAccount]);
/** The use of a session or an end user would be kept too long in these periods. */
const LONG_PERIODS: ReadonlySet<string> = new Set(['year', 'none']);
const TOO_LONG_FOR_EACH =
  'must be day, week, month or rolling where sessions or end users are counted';
const WINDOW_OF_ROLLING = 'is for the period rolling, which needs it';
const ACCOUNT_OF_PURCHASES = 'must be {"user_id": …} where purchases are counted';
const MONEY_OF_PURCHASES = 'must be money where purchases are counted';
export const NO_FALLBACK_OF_PURCHASES = 'must be refuse or notify where purchases are counted';
const SCOPES =
  'must be one of {"key_id": …}, {"user_id": …}, {"sessions_of": …} and {"end_users_of": …}';
const NOTHING_REQUIRED = 'is for budgets of sessions or end users';

export const createBudgetSchema = z
  .strictObject({
    scope: z
      .union(
        [
          ofKey,
          ofAccount,
          z.strictObject({ sessions_of: owner }),
          z.strictObject({ end_users_of: owner }),
        ],
        SCOPES,
      )
      .describe(
        'A key with its later rotations, or the whole account; sessions_of and end_users_of: each of their sessions, or end users, by itself',
      )
      .meta({ 'x-rules': [SCOPES] }),
    of: z
      .enum(BUDGETS_OF)
      .default('usage')
      .describe('usage: requests. purchases: what auto-recharge of the account buys, in money'),
    require: z
      .boolean()
      .default(false)
      .describe(
        'Refuses requests that name no session, or end user; otherwise they count together',
      ),
    unit,
    amount,
    period: z
      .enum(BUDGET_PERIODS)
      .describe(
        'Weeks begin on Mondays. rolling: the last window_minutes, to a sixtieth. none: a total, to be raised with a grant',
      ),
    window_minutes: windowMinutes.optional().describe('For the period rolling, and only there'),
    time_zone: budgetZone,
    models: budgetModels.default(''),
    action: action.default('refuse'),
    notify_at: notifyAt.default([]),
  })
  .refine(({ scope, period }) => eachOf(scope) === null || !LONG_PERIODS.has(period), {
    path: ['period'],
    message: TOO_LONG_FOR_EACH,
  })
  .refine((body) => (body.period === 'rolling') === (body.window_minutes !== undefined), {
    path: ['window_minutes'],
    message: WINDOW_OF_ROLLING,
  })
  .refine(({ scope, require }) => eachOf(scope) !== null || !require, {
    path: ['require'],
    message: NOTHING_REQUIRED,
  })
  .refine(({ of, scope }) => of === 'usage' || 'user_id' in scope, {
    path: ['scope'],
    message: ACCOUNT_OF_PURCHASES,
  })
  .refine(({ of, unit: counted }) => of === 'usage' || counted === 'money', {
    path: ['unit'],
    message: MONEY_OF_PURCHASES,
  })
  .refine(({ of, action: act }) => of === 'usage' || act !== 'fallback', {
    path: ['action'],
    message: NO_FALLBACK_OF_PURCHASES,
  })
  .meta({
    'x-example': {
      scope: { key_id: 1 },
      unit: 'charged_tokens',
      amount: 1_000_000,
      period: 'month',
      time_zone: 'Europe/Berlin',
      notify_at: [80, 100],
    },
  });
export type CreateBudget = z.output<typeof createBudgetSchema>;

type Scope = z.output<typeof owner> | { sessions_of: object } | { end_users_of: object };

/** Returns what a budget counts separately; null where it counts all requests together. */
export function eachOf(scope: Scope): ScopeKind | null {
  if ('sessions_of' in scope) return 'session';
  return 'end_users_of' in scope ? 'end_user' : null;
}

const NOTHING_TO_CHANGE = 'name at least one field to change';
export const updateBudgetSchema = z
  .strictObject({
    amount: amount.optional(),
    models: budgetModels.optional(),
    action: action.optional(),
    notify_at: notifyAt.optional(),
  })
  .refine((body) => Object.values(body).some((value) => value !== undefined), {
    path: ['amount'],
    message: NOTHING_TO_CHANGE,
  })
  .meta({ minProperties: 1, 'x-example': { amount: 2_000_000 } });
export type UpdateBudget = z.output<typeof updateBudgetSchema>;

export const grantSchema = z
  .strictObject({ amount, reason })
  .meta({ 'x-example': { amount: 50_000, reason: 'release week' } });
export type Grant = z.output<typeof grantSchema>;

export const resetSchema = z
  .strictObject({ reason })
  .meta({ 'x-example': { reason: 'a test run used it up' } });
export type Reset = z.output<typeof resetSchema>;

export const budgetListSchema = listQuery({
  sorts: ['id', 'created_at'],
  sort: '-id',
  filters: { user_id: idFilter.optional(), key_id: idFilter.optional() },
});
export type BudgetList = z.output<typeof budgetListSchema>;

export const unitsText = z
  .string()
  .describe('Units of the budget; decimal text where it counts money, else a whole number');

export const budgetResponseSchema = z
  .object({
    id: idField,
    user_id: idField,
    key_id: idField.nullable().describe('Null: it is of the whole account'),
    of: z.enum(BUDGETS_OF),
    each: z
      .enum(Object.keys(SCOPE_KINDS) as [ScopeKind, ...ScopeKind[]])
      .nullable()
      .describe('It counts each of these by itself; null: all requests together'),
    require: z.boolean(),
    unit: z.enum(BUDGET_UNITS),
    amount: unitsText,
    period: z.enum(BUDGET_PERIODS),
    window_minutes: z.int().nullable().describe('Set where the period is rolling'),
    time_zone: z.string(),
    models: z.string(),
    action: z.enum(BUDGET_ACTIONS),
    notify_at: z.array(z.int()),
    is_of_administrator: z
      .boolean()
      .describe('An administrator set it: the account can neither change nor grant nor reset it'),
    created_at: timeField,
    updated_at: timeField,
  })
  .meta({ id: 'Budget' });
export type BudgetResponse = z.output<typeof budgetResponseSchema>;

const budgetUsageSchema = z
  .object({
    budget_id: idField,
    period_began_at: timeField
      .nullable()
      .describe('The start of the window where it is rolling; null without periods'),
    resets_at: timeField
      .nullable()
      .describe(
        'Null without periods. Where it is rolling, the oldest use leaves the window then; null without use',
      ),
    limit: unitsText.describe('The amount with what was granted in this period'),
    used: unitsText.describe('Of requests that are booked, or of purchases'),
    granted: unitsText,
    values: z
      .int()
      .nullable()
      .describe('Sessions or end users that are booked; `used` is of the one that used most'),
    live: z
      .object({
        used: unitsText.describe('Of requests that have ended, booked or not'),
        held: unitsText.describe('Of requests that run'),
      })
      .nullable()
      .describe(
        'As admission counts; null where Redis does not answer, and for sessions, end users and purchases',
      ),
  })
  .meta({ id: 'BudgetUsage' });
export type BudgetUsage = z.output<typeof budgetUsageSchema>;

export const budgetUsageListSchema = z
  .object({ data: z.array(budgetUsageSchema) })
  .meta({ id: 'BudgetUsageList' });

const budgetEntrySchema = z
  .object({
    id: idField,
    kind: z.enum(['grant', 'reset', 'purchase']),
    amount: unitsText,
    period_began_at: timeField.nullable(),
    reason: z.string().describe('Of a purchase, its reference in the ledger'),
    author_id: idField,
    created_at: timeField,
  })
  .meta({ id: 'BudgetEntry' });
export const budgetEntriesSchema = z.object({ data: z.array(budgetEntrySchema) });

/** Returns undefined for a text that is not an amount of this unit. */
export function readAmount(unit: BudgetUnit, written: string | number): number | undefined {
  try {
    const units = unit === 'money' ? Number(parseAmount(written)) : Number(written);
    return Number.isSafeInteger(units) && units >= 0 ? units : undefined;
  } catch (error) {
    if (error instanceof InvalidAmount) return undefined;
    throw error;
  }
}

export function writeAmount(unit: BudgetUnit, units: number): string {
  return unit === 'money' ? formatAmount(BigInt(units)) : String(units);
}
