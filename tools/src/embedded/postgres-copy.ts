import { chownSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { copyFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { postgresUrl } from './postgres.ts';

/** Is one connection to a running server; a `Client` of pg fits. */
export interface PostgresSession {
  query: (text: string) => Promise<{ rows: unknown[] }>;
}

/** Names the files of the running server alone, which a copy would only mistake for its own. */
const LEFT_OUT = new Set(['postmaster.pid', 'postmaster.opts', 'standby.signal', 'pg_replslot']);
const stopped = z.tuple([z.object({ labelfile: z.string() })]);

/**
 * Makes a consistent copy of a running server's data folder, taken as pg_basebackup does (which the embedded package lacks):
 * files are copied while it works, and its log from the beginning to the end of that makes them whole at the first start.
 * @see https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-LOWLEVEL-BASE-BACKUP
 */
export async function copyRunningPostgres(
  session: PostgresSession,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await session.query(`SELECT pg_backup_start('copy', fast => true)`);
  await copyFolder(from, to);
  const [{ labelfile }] = stopped.parse(
    (await session.query('SELECT labelfile FROM pg_backup_stop(wait_for_archive => false)')).rows,
  );
  await copyFolder(path.join(from, 'pg_wal'), path.join(to, 'pg_wal'));
  writeOwned(path.join(to, 'backup_label'), labelfile, from);
  mkdirOwned(path.join(to, 'pg_replslot'), from);
}

/** Makes a copy follow the server it was taken from, from its first start until it is promoted. */
export function makeStandby(
  dataFolder: string,
  primary: { port: number; password: string; name: string },
): void {
  const url = new URL(
    postgresUrl({ port: primary.port, password: primary.password, database: 'replication' }),
  );
  url.searchParams.set('application_name', primary.name);
  writeOwned(
    path.join(dataFolder, 'postgresql.auto.conf'),
    `primary_conninfo = '${url.href}'\n`,
    dataFolder,
  );
  writeOwned(path.join(dataFolder, 'standby.signal'), '', dataFolder);
}

/** A file that is deleted while it is copied is not needed: the log records its deletion. It is asynchronous, because the copying process may serve traffic meanwhile. */
async function copyFolder(from: string, to: string): Promise<void> {
  mkdirOwned(to, from);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (LEFT_OUT.has(entry.name)) continue;
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    try {
      if (entry.isDirectory()) await copyFolder(source, target);
      else await copyOwned(source, target);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}

async function copyOwned(source: string, target: string): Promise<void> {
  await copyFile(source, target);
  give(target, source);
}

function mkdirOwned(folder: string, like: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  give(folder, like);
}

function writeOwned(file: string, text: string, like: string): void {
  writeFileSync(file, text, { mode: 0o600 });
  give(file, like);
}

/** The server refuses files of another owner. */
function give(file: string, like: string): void {
  const { uid, gid } = lstatSync(like);
  chownSync(file, uid, gid);
}
