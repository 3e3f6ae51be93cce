import { ceilingFields } from '@tollgate/contracts';
import { z } from 'zod';
import { ROLES } from '../../platform/access/caller.ts';
import { idField, timeField } from '../../platform/http/answer-fields.ts';
import { booleanFilter } from '../../platform/http/list-query.ts';
import { accountRates, rateField } from '../../platform/openapi/rate-field.ts';
import { USER_STATUSES } from './user-transitions.ts';
import { newUsername } from './username.ts';
import type { User } from './user.entity.ts';

/** `drain` lets running streams finish. */
export const freezeQuery = z.strictObject({ drain: booleanFilter.default(false) });
export type FreezeQuery = z.output<typeof freezeQuery>;

const accountCeilingField = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).nullable();
const RATES = 'Limits over all keys of the account';
const CEILING =
  "Bounds this limit of the account's keys, also of those without one; 0 = no ceiling, null = the installation's";

export const updateUserBody = z
  .strictObject({
    role: z.enum(['admin', 'user']).optional(),
    is_demo: z.boolean().optional().describe('Made by the demo'),
    ...ceilingFields(() => accountCeilingField.optional().describe(CEILING)),
    rates: accountRates.optional().describe(RATES),
  })
  .refine((body) => Object.values(body).some((value) => value !== undefined), {
    path: ['role'],
    message: 'name at least one field to change',
  })
  .meta({ minProperties: 1 })
  .meta({ 'x-example': { role: 'admin' } });
export type UpdateUserBody = z.output<typeof updateUserBody>;

export const createUserBody = z
  .strictObject({
    username: newUsername,
    role: z.enum(['admin', 'user']).default('user'),
    is_demo: z.boolean().optional().describe('Made by the demo'),
  })
  .meta({ 'x-example': { username: 'ada' } });
export type CreateUserBody = z.output<typeof createUserBody>;

export const userResponseSchema = z
  .object({
    id: idField,
    username: z.string(),
    role: z.enum(ROLES),
    status: z.enum(USER_STATUSES),
    is_demo: z.boolean().describe('Made by the demo; `npm run seed -- close-demo` deletes it'),
    ...ceilingFields(() => z.int().nullable().describe(CEILING)),
    rates: z.array(rateField).describe(RATES),
    created_at: timeField,
    updated_at: timeField,
  })
  .meta({ id: 'User' });
export type UserResponse = z.output<typeof userResponseSchema>;

export const eraseUserBody = z
  .strictObject({ username: z.string().max(200).describe('Of the account, as a confirmation') })
  .meta({ 'x-example': { username: 'ada' } });
export type EraseUserBody = z.output<typeof eraseUserBody>;

export const erasureSchema = z
  .object({
    user_id: idField,
    username: z.string().describe('As it was before'),
    rows: z
      .array(z.object({ table: z.string(), rows: z.int() }))
      .describe('Rows that name the person, by table; empty once all are erased'),
  })
  .meta({ id: 'Erasure' });
export type ErasureResponse = z.output<typeof erasureSchema>;

const oneTime = {
  one_time_password: z
    .string()
    .nullable()
    .describe(
      'Shown this once; null when the call is a repeat. Its owner sets another before anything else',
    ),
  one_time_until: timeField.describe('When it ceases to be good'),
};
export const createdUserSchema = userResponseSchema.extend(oneTime).meta({ id: 'CreatedUser' });
export type CreatedUser = z.output<typeof createdUserSchema>;
export const oneTimePasswordSchema = z
  .object({ id: idField, ...oneTime })
  .meta({ id: 'OneTimePassword' });
export type OneTimePassword = z.output<typeof oneTimePasswordSchema>;

export function toUserResponse(row: User): UserResponse {
  return {
    id: row.id,
    username: row.username,
    role: row.role,
    status: row.status,
    is_demo: row.isDemo,
    ...ceilingFields((name) => row.ceilings[name] ?? null),
    rates: row.rates,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}
