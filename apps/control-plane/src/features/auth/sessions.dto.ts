import { z } from 'zod';
import type { Caller } from '../../platform/access/caller.ts';
import { idField, timeField } from '../../platform/http/answer-fields.ts';
import { idFilter, listQuery } from '../../platform/http/list-query.ts';
import type { SessionRow } from './session.entity.ts';

/** Administrators name another account with `user_id`. */
export const sessionsQuery = listQuery({
  sorts: ['created_at', 'last_seen_at'],
  sort: '-last_seen_at',
  filters: { user_id: idFilter.optional() },
});
export type SessionsQuery = z.output<typeof sessionsQuery>;

/** Ends only the session of this request, unless the body has `all`. */
export const logoutBody = z
  .strictObject({ all: z.boolean().optional().describe('End every session of the account') })
  .default({})
  .meta({ 'x-example': { all: true } });
export type LogoutBody = z.output<typeof logoutBody>;

export const sessionRowSchema = z
  .object({
    sid: z.uuid(),
    user_id: idField,
    is_current: z.boolean().describe('The session this request came with'),
    address: z.string().describe('Where it began'),
    user_agent: z.string(),
    created_at: timeField,
    last_seen_at: timeField.describe('Exact to a minute'),
    expires_at: timeField,
  })
  .meta({ id: 'SessionEntry' });
export type SessionEntry = z.output<typeof sessionRowSchema>;

export function toSessionEntry(row: SessionRow, { credential }: Caller): SessionEntry {
  return {
    sid: row.id,
    user_id: row.userId,
    is_current: credential.kind === 'session' && credential.sid === row.id,
    address: row.address,
    user_agent: row.userAgent,
    created_at: row.createdAt.toISOString(),
    last_seen_at: row.lastSeenAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
  };
}
