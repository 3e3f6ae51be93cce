import { z } from 'zod';
import { ROLES, type Role } from '../../platform/access/caller.ts';
import { idField, timeField } from '../../platform/http/answer-fields.ts';
import { newUsername } from '../users/username.ts';
import { USER_STATUSES } from '../users/user-transitions.ts';

const newPassword = z.string().min(8).max(1024);
/** A sign-in accepts any short text as username. */
const givenUsername = z.string().min(1).max(256).normalize('NFKC');
const givenPassword = z.string().min(1).max(1024);

export const loginBody = z
  .strictObject({ username: givenUsername, password: givenPassword })
  .meta({ 'x-example': { username: 'ada', password: 'correct horse battery' } });
export type LoginBody = z.output<typeof loginBody>;

/** The console sends `session=cookie`: the session then goes into an HttpOnly cookie instead of the answer. */
export const loginQuery = z.strictObject({ session: z.literal('cookie').optional() });
export type LoginQuery = z.output<typeof loginQuery>;

export const registerBody = z
  .strictObject({ username: newUsername, password: newPassword })
  .meta({ 'x-example': { username: 'ada', password: 'correct horse battery' } });
export type RegisterBody = z.output<typeof registerBody>;

export const passwordBody = z
  .strictObject({
    current_password: givenPassword,
    new_password: newPassword,
  })
  .meta({
    'x-example': {
      current_password: 'correct horse battery',
      new_password: 'correct horse battery staple',
    },
  });
export type PasswordBody = z.output<typeof passwordBody>;

export const confirmPasswordBody = z
  .strictObject({ password: givenPassword })
  .meta({ 'x-example': { password: 'correct horse battery' } });
export type ConfirmPasswordBody = z.output<typeof confirmPasswordBody>;

export const confirmedPasswordSchema = z.object({
  confirmed_until: timeField.describe('Until then this session may make administrators and tokens'),
});
export type ConfirmedPassword = z.output<typeof confirmedPasswordSchema>;

const sessionUser = z.object({ id: idField, username: z.string(), role: z.enum(ROLES) });
export const sessionResponseSchema = z
  .object({
    token: z
      .string()
      .optional()
      .describe('JWT, 12 hours. Absent when the session is in the cookie'),
    user: sessionUser,
    password_change_needed: z
      .boolean()
      .describe('The password is a one-time one: set another before anything else'),
  })
  .meta({ id: 'Session' });
export type SessionResponse = z.output<typeof sessionResponseSchema>;
export type IssuedSession = SessionResponse & { token: string };

export const registeredResponseSchema = z.object({
  id: idField,
  username: z.string(),
  status: z.enum(USER_STATUSES).describe('`pending` until an administrator approves'),
});
export type RegisteredResponse = z.output<typeof registeredResponseSchema>;

export const meResponseSchema = z.object({
  id: idField,
  username: z.string(),
  role: z.enum(ROLES),
  status: z.enum(USER_STATUSES),
  created_at: timeField,
  password_change_needed: z.boolean(),
});
export type MeResponse = z.output<typeof meResponseSchema>;

export const signedOutSchema = z.object({ status: z.literal('signed_out') });

export function toSessionResponse(
  account: { userId: number; username: string; role: Role; oneTimeUntil: Date | null },
  token: string,
): IssuedSession {
  return {
    token,
    user: { id: account.userId, username: account.username, role: account.role },
    password_change_needed: account.oneTimeUntil !== null,
  };
}
