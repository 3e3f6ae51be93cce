import { escapeLike } from '../../platform/http/list-query.ts';
import type { Role } from '../../platform/access/caller.ts';
import type { UserStatus } from './user-transitions.ts';

/** Is the SQL of the accounts in a FROM clause. */
export const ACCOUNTS = 'users account';
export const IS_LIVING = 'account.deleted_at IS NULL';

export interface AccountsQuestion {
  status?: UserStatus | undefined;
  role?: Role | undefined;
  is_demo?: boolean | undefined;
  /** Matches a part of the name. */
  q?: string | undefined;
}

/** Returns the condition that filters `ACCOUNTS` for a list. */
export function whichAccounts({ status, role, is_demo: isDemo, q }: AccountsQuestion): {
  sql: string;
  parameters: unknown[];
} {
  const parameters: unknown[] = [];
  const bind = (value: unknown): string => `$${parameters.push(value)}`;
  const conditions = [
    ...(status === 'deleted' ? [] : [IS_LIVING]),
    ...(status === undefined ? [] : [`account.status = ${bind(status)}`]),
    ...(role === undefined ? [] : [`account.role = ${bind(role)}`]),
    ...(isDemo === undefined ? [] : [`account.is_demo = ${bind(isDemo)}`]),
    ...(q === undefined ? [] : [`account.username ILIKE ${bind(`%${escapeLike(q)}%`)}`]),
  ];
  return { sql: conditions.length === 0 ? 'true' : conditions.join(' AND '), parameters };
}
