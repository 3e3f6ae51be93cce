import { z } from 'zod';
import { amountText, currencyField, timeField } from '../../platform/http/answer-fields.ts';
import { booleanFilter, listQuery } from '../../platform/http/list-query.ts';
import { SPEND } from '../usage/spend.sql.ts';
import { USER_STATUSES } from '../users/user-transitions.ts';
import { userResponseSchema } from '../users/users.dto.ts';

export const directoryQuery = listQuery({
  sorts: ['id', 'username', 'status', 'role', 'created_at', 'balance', 'spend_30d', 'last_used_at'],
  sort: 'id',
  filters: {
    status: z.enum(USER_STATUSES).optional().describe('`deleted` accounts are in no other list'),
    role: z.enum(['admin', 'user']).optional(),
    is_demo: booleanFilter.optional(),
  },
});
export type DirectoryQuery = z.output<typeof directoryQuery>;
export type DirectorySort = DirectoryQuery['sort'] extends infer Sort
  ? Sort extends `-${infer Name}`
    ? Name
    : Sort
  : never;

export const listedUserSchema = userResponseSchema
  .extend({
    balance: amountText.describe('Of the wallet'),
    currency: currencyField,
    spend_30d: amountText.describe(`${SPEND}; of the last 30 days`),
    last_used_at: timeField
      .nullable()
      .describe(
        'When it made its last request: to the minute for 48 hours, to the hour for 90 days, then to the day; null = never',
      ),
    last_seen_at: timeField
      .nullable()
      .describe('When one of its sessions was last used; null where none is kept'),
  })
  .meta({ id: 'ListedUser' });
export type ListedUser = z.output<typeof listedUserSchema>;
