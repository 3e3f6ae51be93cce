import { rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { monotonicMs } from '../monotonic-ms.ts';
import { LOCAL_DISK, type JournalDisk } from './journal-disk.ts';
import { pause, SYSTEM_TIMERS, type Timers } from '../timers.ts';

const LOCK_FILE = 'lock.db';
const RETRY_MS = 50;
const SQLITE_BUSY = 5;
const SQLITE_CANTOPEN = 14;

export class JournalLocked extends Error {}

/** Reserves a journal for one process. The kernel releases it when the process ends in any way. */
export interface JournalLock {
  /** Is the number of times that this folder has been locked. It is null if a full disk prevented the count from rising. */
  readonly fence: number | null;
  release(): void;
  /** Removes the folder as far as it is empty, then releases the lock. */
  retire(): void;
}

/** Has the type of `tryLock`, so that tests can replace it. */
export type TryLock = (folder: string) => JournalLock | undefined;

export interface LockParts {
  disk?: JournalDisk;
  tryLock?: TryLock;
  timers?: Timers;
  monotonicNow?: () => number;
}

/** Takes the lock of a journal folder, or waits up to `waitMs` for its owner to end. It throws JournalLocked when the owner continues. */
export async function lockJournal(
  folder: string,
  waitMs: number,
  {
    disk = LOCAL_DISK,
    tryLock: take = tryLock,
    timers = SYSTEM_TIMERS,
    monotonicNow = monotonicMs,
  }: LockParts = {},
): Promise<JournalLock> {
  const deadline = monotonicNow() + waitMs;
  for (;;) {
    // Another worker may have removed the folder of a worker that it believed to be gone.
    disk.makeFolder(folder);
    const lock = take(folder);
    if (lock) return lock;
    if (monotonicNow() >= deadline)
      throw new JournalLocked(`the journal in ${folder} is in use by another process`);
    await pause(timers, RETRY_MS);
  }
}

/**
 * Returns undefined while another process has the folder, or may have it. The lock is the kernel's lock on `lock.db` (fcntl, through SQLite): it
 * holds between containers of one machine too, whose process ids say nothing to each other. It needs a local disk. No part of the process may open
 * `lock.db` by other means: closing such a file gives the kernel's lock back.
 */
export function tryLock(folder: string): JournalLock | undefined {
  const database = openExclusively(join(folder, LOCK_FILE));
  if (!database) return undefined;
  try {
    const lock = lockWith(database, folder);
    if (!lock) database.close();
    return lock;
  } catch (error) {
    database.close();
    throw error;
  }
}

const ownerSchema = z.object({ fence: z.number(), is_retired: z.number() });

function lockWith(database: DatabaseSync, folder: string): JournalLock | undefined {
  const owner = readOwner(database);
  // The file was removed while this process waited for it; the next try makes a new one.
  if (owner?.is_retired) return undefined;
  return {
    fence: raiseFence(database, owner?.fence ?? 0),
    release: () => database.close(),
    retire: () => retire(database, folder),
  };
}

function openExclusively(path: string): DatabaseSync | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    // In this mode the lock outlives the transaction, which writes nothing, so a full disk does not matter.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; ROLLBACK');
    return database;
  } catch (error) {
    database?.close();
    const code = sqliteCode(error);
    if (code === SQLITE_BUSY || code === SQLITE_CANTOPEN) return undefined;
    throw error;
  }
}

function readOwner(database: DatabaseSync): z.output<typeof ownerSchema> | undefined {
  const tables = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'owner'").all();
  if (tables.length === 0) return undefined;
  const row = database.prepare('SELECT fence, is_retired FROM owner WHERE id = 1').get();
  return row && ownerSchema.parse(row);
}

function raiseFence(database: DatabaseSync, earlier: number): number | null {
  try {
    database.exec(
      'CREATE TABLE IF NOT EXISTS owner (id INTEGER PRIMARY KEY CHECK (id = 1), fence INTEGER NOT NULL, is_retired INTEGER NOT NULL DEFAULT 0)',
    );
    database.prepare('INSERT OR REPLACE INTO owner (id, fence) VALUES (1, ?)').run(earlier + 1);
    return earlier + 1;
  } catch (error) {
    // A full disk must not prevent finals from being settled; the lock itself needs no room.
    if (sqliteCode(error) === undefined) throw error;
    return null;
  }
}

/** A process that waits for this file finds the note in it; a later one makes a new file. */
function retire(database: DatabaseSync, folder: string): void {
  try {
    database.exec('UPDATE owner SET is_retired = 1');
    for (const name of [LOCK_FILE, `${LOCK_FILE}-journal`])
      rmSync(join(folder, name), { force: true });
    rmdirSync(folder);
  } catch {
    // The folder is not empty: its worker is back, a journal was set aside there, or the disk is full and an emptied folder stays.
  } finally {
    database.close();
  }
}

/** Returns SQLite's result code (https://www.sqlite.org/rescode.html); undefined for another kind of error. */
function sqliteCode(error: unknown): number | undefined {
  return z.object({ errcode: z.number() }).safeParse(error).data?.errcode;
}
