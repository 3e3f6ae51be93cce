import { z } from 'zod';
import { ROLES } from '../../platform/access/caller.ts';
import { idField, timeField } from '../../platform/http/answer-fields.ts';
import { booleanFilter, listQuery } from '../../platform/http/list-query.ts';
import { USER_STATUSES } from './user-transitions.ts';
import type { User } from './user.entity.ts';

export const usersQuery = listQuery({
  sorts: ['id', 'username', 'status', 'role', 'created_at'],
  sort: 'id',
  filters: {
    status: z.enum(['pending', 'active', 'rejected', 'frozen']).optional(),
    role: z.enum(['admin', 'user']).optional(),
  },
});
export type UsersQuery = z.output<typeof usersQuery>;

/** `drain`: running streams may finish. */
export const freezeQuery = z.strictObject({ drain: booleanFilter.default(false) });
export type FreezeQuery = z.output<typeof freezeQuery>;

/** `forfeit`: money and tokens the account still holds are given up. */
export const deleteUserQuery = z.strictObject({
  drain: booleanFilter.default(false),
  forfeit: booleanFilter.default(false),
});
export type DeleteUserQuery = z.output<typeof deleteUserQuery>;

export const updateUserBody = z.strictObject({ role: z.enum(['admin', 'user']) });
export type UpdateUserBody = z.output<typeof updateUserBody>;

export const userResponseSchema = z
  .object({
    id: idField,
    username: z.string(),
    role: z.enum(ROLES),
    status: z.enum(USER_STATUSES),
    created_at: timeField,
    updated_at: timeField,
  })
  .meta({ id: 'User' });
export type UserResponse = z.output<typeof userResponseSchema>;

export function toUserResponse(row: User): UserResponse {
  return {
    id: row.id,
    username: row.username,
    role: row.role,
    status: row.status,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}
