import { z } from 'zod';
import type { Role } from '../../platform/access/caller.ts';

/** Letters and digits of any script, and the signs of an e-mail address: no markup, no spaces, no direction marks (security S41). */
const newUsername = z.string().normalize('NFKC').regex(/^[\p{L}\p{N}._@+-]{1,64}$/u, 'must be 1 to 64 letters, digits or . _ @ + -');
const newPassword = z.string().min(8).max(1024);
/** What somebody types when signing in may be anything short. */
const givenUsername = z.string().min(1).max(256).normalize('NFKC');
const givenPassword = z.string().min(1).max(1024);

export const loginBody = z.strictObject({ username: givenUsername, password: givenPassword });
export type LoginBody = z.output<typeof loginBody>;

/** `session=cookie` is for the console: the session goes into an HttpOnly cookie instead of the answer. */
export const loginQuery = z.strictObject({ session: z.literal('cookie').optional() });
export type LoginQuery = z.output<typeof loginQuery>;

export const registerBody = z.strictObject({ username: newUsername, password: newPassword });
export type RegisterBody = z.output<typeof registerBody>;

export const passwordBody = z.strictObject({ current_password: givenPassword, new_password: newPassword });
export type PasswordBody = z.output<typeof passwordBody>;

export interface SessionResponse {
  /** JWT, 12 hours. Absent when the session is in the cookie. */
  token?: string;
  user: { id: number; username: string; role: Role };
}

export function toSessionResponse(account: { userId: number; username: string; role: Role }, token: string): Required<SessionResponse> {
  return { token, user: { id: account.userId, username: account.username, role: account.role } };
}
