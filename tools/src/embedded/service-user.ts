import { readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import path from 'node:path';

export interface ServiceUser {
  uid: number;
  gid: number;
}

/** PostgreSQL refuses to run as root: then it runs as `postgres` if there is one, else as `nobody`. It returns undefined when we are not root. */
export function serviceUser(): ServiceUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const wanted of ['postgres', '_postgres', 'nobody']) {
    const [, , uid, gid] = accounts.find(([name]) => name === wanted) ?? [];
    if (uid !== undefined && gid !== undefined && Number(uid) > 0)
      return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(
    'PostgreSQL cannot run as root and there is no user `postgres` or `nobody`. Fix: run as an ordinary user, or set DATABASE_URL.',
  );
}

/**
 * PostgreSQL creates a cluster only as a user that has a name. It throws when the one that it would run as has none, as a container's
 * `--user 12345`.
 * @param nameOf looks the user of this process up
 */
export function assertNamed(
  user: ServiceUser | undefined,
  nameOf: () => unknown = () => userInfo(),
): void {
  // Root runs it as another user, which was found by its name.
  if (user) return;
  try {
    nameOf();
  } catch (error) {
    throw new Error(
      `PostgreSQL needs a user with a name, and uid ${process.getuid?.()} has no entry in /etc/passwd.\n  Fix: run as a user that has one (in a container: as root, or useradd --uid ${process.getuid?.()} tollgate), or set DATABASE_URL to a PostgreSQL of your own.`,
      { cause: error },
    );
  }
}

/** Returns true when `user` may pass through every folder above `target`. Looks at mode bits only, so that an access list can only make us more careful. */
export function isReachable(target: string, user: ServiceUser | undefined): boolean {
  if (!user) return true;
  for (let folder = path.dirname(path.resolve(target)); ; folder = path.dirname(folder)) {
    const { mode, uid, gid } = statSync(folder);
    const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (folder === path.dirname(folder)) return true;
  }
}
