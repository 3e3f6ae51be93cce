import { SetMetadata, type CustomDecorator } from '@nestjs/common';

/** public: anyone. user: an active account, for its own data. admin: administrators. */
export type PermissionLevel = 'public' | 'user' | 'admin';
export const PERMISSION = 'tollgate:permission';

/** Stands beside every route; the process does not start when one lacks it. */
export const Permission = (level: PermissionLevel): CustomDecorator =>
  SetMetadata(PERMISSION, level);

export const SESSION_ONLY = 'tollgate:session-only';

/** Marks routes that an access token never reaches: a leaked one must not change a password, make another token or end its owner's sessions. */
export const SessionOnly = (): CustomDecorator => SetMetadata(SESSION_ONLY, true);

export const FRESH_PASSWORD = 'tollgate:fresh-password';

/** Holds the fields of a body for which the rule applies; empty = for every call. */
export type FreshPasswordRule = Readonly<Record<string, string>>;

/**
 * Marks routes that make further powers: an access token never reaches them, and a session only with a password given within 15 minutes. With
 * `{ role: 'admin' }` only calls whose body says so.
 */
export const FreshPassword = (when: FreshPasswordRule = {}): CustomDecorator =>
  SetMetadata(FRESH_PASSWORD, when);

export const ONE_TIME_PASSWORD = 'tollgate:one-time-password';

/** Marks the few routes that a session with a one-time password reaches. */
export const OpenToOneTimePassword = (): CustomDecorator => SetMetadata(ONE_TIME_PASSWORD, true);
