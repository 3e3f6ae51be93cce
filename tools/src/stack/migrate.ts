import { execFile } from 'node:child_process';
import path from 'node:path';
import { ROOT } from '../checkout.ts';
import { opsEnvironment, type DatabaseUrls } from '../embedded/postgres-roles.ts';

/** Brings the database to this release's schema as its owner, because control planes may not. It throws with what the command said. */
export function migrate(
  urls: DatabaseUrls,
  base: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const program = path.join(ROOT, 'apps', 'control-plane', 'dist', 'ops.js');
  const env = { ...base, ...opsEnvironment(urls) };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [program, 'migrate'], { env }, (error, _, said) =>
      error ? reject(new Error(`The database was not migrated: ${said.trim()}`)) : resolve(),
    );
  });
}
