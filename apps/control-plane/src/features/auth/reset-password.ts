import { randomBytes } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { revokeAccessTokens } from '../../platform/access/access-tokens.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { ActivityService, SYSTEM } from '../activity/activity.service.ts';
import { AccountsService } from '../users/accounts.service.ts';
import { Passwords } from '../../platform/access/passwords.ts';

const PASSWORD_BYTES = 18;

export interface ResetParts {
  dataSource: DataSource;
  accounts: AccountsService;
}

/**
 * Resets a password from the server's command line, because Tollgate sends no e-mail. Returns the new password, or undefined when there is no such
 * account. All sessions and access tokens of the account end.
 */
export async function resetPassword(
  { dataSource, accounts }: ResetParts,
  username: string,
): Promise<string | undefined> {
  const account = await accounts.findByName(username);
  if (!account) return undefined;
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  const passwordHash = await new Passwords().hash(password);
  await new Transactions(dataSource).run(async (tx) => {
    await accounts.setPassword(tx, account.userId, passwordHash);
    await revokeAccessTokens(tx, account.userId);
    new ActivityService(dataSource).record(tx, SYSTEM, {
      action: 'user.reset_password',
      target: { kind: 'user', id: account.userId },
    });
  });
  return password;
}
