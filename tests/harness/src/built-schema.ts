import { readdirSync } from 'node:fs';
import path from 'node:path';
import { opsEnvironment } from '@tollgate/tools';
import { preparedKey, preparedPostgres, type PreparedPostgres } from './prepared-postgres.ts';
import { runOps } from './run-ops.ts';

const BUILT = path.join(import.meta.dirname, '../../../apps/control-plane/dist/platform/database');

/** Makes a database with the schema of the built release, so that an installation copies it instead of running every migration. */
export function builtSchema(): Promise<PreparedPostgres> {
  const files = readdirSync(BUILT, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js'))
    .toSorted()
    .map((file) => path.join(BUILT, file));
  return preparedPostgres(preparedKey(files), async (urls) => {
    const { status, err } = await runOps(opsEnvironment(urls), 'migrate');
    if (status !== 0) throw new Error(`the database could not be prepared: ${err}`);
  });
}
