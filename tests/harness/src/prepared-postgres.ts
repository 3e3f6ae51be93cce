import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import {
  databaseUrlsOf,
  embeddedPostgres,
  findFreePort,
  postgresUrl,
  type RoleUrls,
} from '@tollgate/tools';
import pg from 'pg';
import { temporaryBase } from './temporary-folder.ts';

const KEPT_MS = 24 * 60 * 60 * 1_000;

/** The first segment of the log is copied with each cluster, and one iteration of a password's hash is enough for a password of 18 random bytes. */
const SMALL_AND_QUICK = ['--wal-segsize=1', '--set=scram_iterations=1'];

/** Is the data folder of a stopped PostgreSQL, to be copied, and the password of its user. */
export interface PreparedPostgres {
  dataFolder: string;
  password: string;
}

/** Makes the roles of every cluster. */
const ROLES_FILE = path.join(import.meta.dirname, '../../../deploy/postgres/roles.sql');

/** Returns a name for a prepared database: it is the same as long as the files, how it is prepared, the Node.js release and the day are, as schemas have partitions by day. */
export function preparedKey(files: readonly string[]): string {
  const hash = createHash('sha256').update(process.version).update(new Date().toDateString());
  for (const file of [import.meta.filename, ROLES_FILE, ...files])
    hash.update(file).update(readFileSync(file));
  return hash.digest('hex').slice(0, 16);
}

/**
 * Returns the prepared database of this key, which is kept between runs. Without one, `fill` writes to a new database, which is then stopped. Suites that start side by side
 * may each make one; the first to finish is kept.
 */
export async function preparedPostgres(
  key: string,
  fill: (urls: RoleUrls) => Promise<void>,
): Promise<PreparedPostgres> {
  const kept = path.join(temporaryBase(), `${ownPrefix()}${key}`);
  if (!existsSync(kept)) await make(kept, fill);
  return {
    dataFolder: path.join(kept, 'data'),
    password: readFileSync(path.join(kept, 'password'), 'utf8'),
  };
}

/** Copies a prepared database, with owners and modes, to a data folder that does not exist yet. */
export function copyPrepared({ dataFolder }: PreparedPostgres, target: string): void {
  mkdirSync(path.dirname(target), { recursive: true });
  execFileSync('cp', ['-Rp', dataFolder, target]);
}

async function make(kept: string, fill: (urls: RoleUrls) => Promise<void>): Promise<void> {
  removeOld(path.dirname(kept), ownPrefix());
  const aside = mkdtempSync(`${kept}.`);
  chmodSync(aside, 0o755);
  const password = randomBytes(18).toString('base64url');
  const port = await findFreePort();
  const folders = { run: path.join(aside, 'run'), logs: path.join(aside, 'logs') };
  const server = embeddedPostgres({
    dataFolder: path.join(aside, 'data'),
    port,
    password,
    folders,
    initdb: SMALL_AND_QUICK,
  });
  const databaseUrl = postgresUrl({ port, password });
  try {
    await server.start();
    await fill(databaseUrlsOf(databaseUrl, password));
    await dropUnused(databaseUrl);
    await server.stop();
    writeFileSync(path.join(aside, 'password'), password, { mode: 0o600 });
    renameSync(aside, kept);
  } catch (error) {
    await server.stop();
    rmSync(aside, { recursive: true, force: true });
    if (!existsSync(kept)) throw error;
  }
}

/** Drops the databases that every cluster begins with and no suite connects to: they are half of what would be copied. */
async function dropUnused(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query("UPDATE pg_database SET datistemplate = false WHERE datname = 'template0'");
    await client.query('DROP DATABASE template0');
    await client.query('DROP DATABASE postgres');
  } finally {
    await client.end();
  }
}

/** Each user has their own: PostgreSQL refuses a data folder of another owner. */
function ownPrefix(): string {
  return `tollgate-prepared-${process.getuid?.() ?? 0}-`;
}

function removeOld(folder: string, prefix: string): void {
  for (const name of readdirSync(folder).filter((entry) => entry.startsWith(prefix))) {
    const target = path.join(folder, name);
    const { mtimeMs } = statSync(target, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
    if (Date.now() - mtimeMs > KEPT_MS) rmSync(target, { recursive: true, force: true });
  }
}
