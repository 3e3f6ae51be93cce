import { Refusal } from '../http/refusal.ts';
import type { Identity } from './caller.ts';
import type { FreshPasswordRule } from './permission.ts';

/** Throws session_needed for an access token, and password_needed for a session whose password was entered more than 15 minutes ago. */
export function needFreshPassword({ credential }: Pick<Identity, 'credential'>): void {
  if (credential.kind === 'access_token') throw new Refusal('session_needed');
  if (!credential.isPasswordFresh)
    throw new Refusal('password_needed', {
      detail:
        'This needs a password given within 15 minutes: POST it to /admin-api/auth/confirm-password, then repeat the call',
    });
}

/** Returns whether the rule of a route applies to a call with this body. */
export function isUnder(rule: FreshPasswordRule | undefined, body: unknown): boolean {
  const given: Readonly<Record<string, unknown>> = Object(body);
  return (
    rule !== undefined && Object.entries(rule).every(([field, value]) => given[field] === value)
  );
}
