import { AdminClient, AdminRefusal } from '../admin-client.ts';
import type { Credentials, StartFile } from './start-file.ts';

/** Returns the names of the accounts of the start file whose password is another one now. An account that cannot be asked about is not among them. */
export async function readChangedLogins({
  adminUrl,
  admin,
  user,
}: Pick<StartFile, 'adminUrl' | 'admin' | 'user'>): Promise<ReadonlySet<string>> {
  const accounts = [admin, user];
  const changed = await Promise.all(accounts.map((account) => isChanged(adminUrl, account)));
  return new Set(accounts.filter((_, index) => changed[index]).map(({ username }) => username));
}

/** Signs in, and out again: the account's list of sessions stays as it was. */
async function isChanged(adminUrl: string, { username, password }: Credentials): Promise<boolean> {
  try {
    const client = await new AdminClient(adminUrl).login(username, password);
    await client.call('POST', '/auth/logout');
    return false;
  } catch (error) {
    return error instanceof AdminRefusal && error.code === 'invalid_credentials';
  }
}
