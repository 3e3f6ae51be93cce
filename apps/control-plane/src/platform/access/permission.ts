import { SetMetadata, type CustomDecorator } from '@nestjs/common';

/** Is `public` for anyone, `user` for an active account and its own data, `admin` for administrators. */
export type PermissionLevel = 'public' | 'user' | 'admin';
export const PERMISSION = 'tollgate:permission';

/** Declares the permission of a route. The process does not start when a route lacks it. */
export const Permission = (level: PermissionLevel): CustomDecorator =>
  SetMetadata(PERMISSION, level);

export const SESSION_ONLY = 'tollgate:session-only';

/** Marks routes that no access token reaches: a leaked token must not change a password, create another token or end its owner's sessions. */
export const SessionOnly = (): CustomDecorator => SetMetadata(SESSION_ONLY, true);

export const FRESH_PASSWORD = 'tollgate:fresh-password';

/** Holds the values of body fields for which the rule applies. An empty object applies to every call. */
export type FreshPasswordRule = Readonly<Record<string, string>>;

/**
 * Marks routes that grant further powers. No access token reaches them, and a session needs a password that was entered within 15 minutes. With `{
 * role: 'admin' }` the rule applies only to calls whose body has that value.
 */
export const FreshPassword = (when: FreshPasswordRule = {}): CustomDecorator =>
  SetMetadata(FRESH_PASSWORD, when);

export const ONE_TIME_PASSWORD = 'tollgate:one-time-password';

/** Marks the few routes that a session with a one-time password reaches. */
export const OpenToOneTimePassword = (): CustomDecorator => SetMetadata(ONE_TIME_PASSWORD, true);
