import { hash } from 'node:crypto';

/** Names what a budget counts each by itself, with the letter by which Redis' functions know it. */
export const SCOPE_KINDS = { session: 's', end_user: 'u' } as const;
export type ScopeKind = keyof typeof SCOPE_KINDS;

/** Names the session and the end user of a request, as its client does. */
export type NamedScopes = Readonly<Partial<Record<ScopeKind, string>>>;

/** Reads no more of what a client names. */
export const SCOPE_VALUE_BYTES_MAX = 256;
/** Limits the sessions of an account, and its end users, that are counted each by itself: `budget-values.lua` has both. */
export const SCOPE_VALUES_MAX = 10_000;
const HASH_DIGITS = 31;

/** Returns the value under which Redis and the ledger count a session or an end user of an account; '' where the request names none. The name cannot be read from it. */
export function scopeValue(accountId: number, kind: ScopeKind, name: string | undefined): string {
  if (name === undefined || name === '') return '';
  const read = Buffer.from(name).subarray(0, SCOPE_VALUE_BYTES_MAX).toString('hex');
  const digest = hash('sha256', `${accountId} ${kind} ${read}`, 'hex');
  return `${SCOPE_KINDS[kind]}${digest.slice(0, HASH_DIGITS)}`;
}

export function scopeKindOf(letter: string): ScopeKind | null {
  if (letter === SCOPE_KINDS.session) return 'session';
  return letter === SCOPE_KINDS.end_user ? 'end_user' : null;
}
