import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';

export interface ServiceUser {
  uid: number;
  gid: number;
}

/** PostgreSQL refuses to run as root: then it runs as `postgres` if there is one, else as `nobody`. Undefined when we are not root. */
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

/** Whether `user` may pass through every folder above `target`. Looks at mode bits only, so that an access list can only make us more careful. */
export function isReachable(target: string, user: ServiceUser | undefined): boolean {
  if (!user) return true;
  for (let folder = path.dirname(path.resolve(target)); ; folder = path.dirname(folder)) {
    const { mode, uid, gid } = statSync(folder);
    const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (folder === path.dirname(folder)) return true;
  }
}
