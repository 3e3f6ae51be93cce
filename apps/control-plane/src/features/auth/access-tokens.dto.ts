import { z } from 'zod';
import { TOKEN_SCOPES } from '../../platform/access/caller.ts';
import { idField, timeField } from '../../platform/http/answer-fields.ts';
import {
  booleanFilter,
  idFilter,
  IN_FUTURE,
  listQuery,
  momentField,
} from '../../platform/http/list-query.ts';
import { nameText } from '../../platform/http/text-field.ts';
import type { AccessTokenRow } from './access-token.entity.ts';

const scope = z
  .enum(TOKEN_SCOPES)
  .describe(
    'read: look at what the owner may see. write: also change what belongs to the owner. admin: all that an administrator may',
  );

/** Administrators name another account with `user_id`. */
export const accessTokensQuery = listQuery({
  sorts: ['id', 'name', 'created_at', 'expires_at', 'last_used_at'],
  sort: '-id',
  filters: { user_id: idFilter.optional(), is_revoked: booleanFilter.default(false) },
});
export type AccessTokensQuery = z.output<typeof accessTokensQuery>;

export const LIFETIME_DAYS_MAX = 366;
export const TOO_FAR = `must be at most ${LIFETIME_DAYS_MAX} days ahead`;
export const ADMIN_IS_FOR_ADMINISTRATORS = 'admin is for administrators';

export const createAccessTokenBody = z
  .strictObject({
    name: nameText(128),
    scope: scope.meta({ 'x-rules': [ADMIN_IS_FOR_ADMINISTRATORS] }),
    expires_at: momentField.optional().meta({
      description: 'At most 366 days ahead; 90 days from now when absent',
      'x-rules': [IN_FUTURE, TOO_FAR],
    }),
  })
  .meta({ 'x-example': { name: 'nightly report', scope: 'read' } });
export type CreateAccessToken = z.output<typeof createAccessTokenBody>;

export const accessTokenSchema = z
  .object({
    id: idField,
    user_id: idField,
    name: z.string(),
    token_prefix: z.string(),
    scope,
    expires_at: timeField,
    last_used_at: timeField.nullable().describe('Exact to a minute'),
    last_used_address: z.string().nullable(),
    created_at: timeField,
    revoked_at: timeField.nullable(),
  })
  .meta({ id: 'AccessToken' });
export type AccessToken = z.output<typeof accessTokenSchema>;

export const createdAccessTokenSchema = accessTokenSchema
  .extend({
    token: z
      .string()
      .nullable()
      .describe('The token itself, shown this once; null when the call is a repeat'),
  })
  .meta({ id: 'CreatedAccessToken' });
export type CreatedAccessToken = z.output<typeof createdAccessTokenSchema>;

export function toAccessToken(row: AccessTokenRow): AccessToken {
  return {
    id: row.id,
    user_id: row.userId,
    name: row.name,
    token_prefix: row.tokenPrefix,
    scope: row.scope,
    expires_at: row.expiresAt.toISOString(),
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
    last_used_address: row.lastUsedAddress,
    created_at: row.createdAt.toISOString(),
    revoked_at: row.revokedAt?.toISOString() ?? null,
  };
}
