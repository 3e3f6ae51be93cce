import { execFileSync } from 'node:child_process';
import { linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { monotonicMs } from '../monotonic-ms.ts';

const LOCK_FILE = 'lock';
const TAKEOVER_FILE = 'lock.takeover';
/** A takeover is a few system calls; one older than this was interrupted. */
const TAKEOVER_MAX_MS = 10_000;
const RETRY_MS = 50;

export class JournalLocked extends Error {}

/** Keeps a journal to one process. `release` gives it back; a killed process's lock is recognised as stale by the next one. */
export interface JournalLock {
  release(): void;
}

/**
 * Takes the lock of a journal folder, or waits up to `waitMs` for its owner to end. Throws JournalLocked when it lives on.
 * An owner is a process id with its start time, so that a reused process id never looks like a live owner.
 */
export async function lockJournal(folder: string, waitMs: number): Promise<JournalLock> {
  const deadline = monotonicMs() + waitMs;
  for (;;) {
    const lock = tryLock(folder);
    if (lock) return lock;
    if (monotonicMs() >= deadline)
      throw new JournalLocked(
        `the journal in ${folder} is in use by process ${readText(join(folder, LOCK_FILE)) ?? 'unknown'}`,
      );
    await delay(RETRY_MS);
  }
}

export function tryLock(folder: string): JournalLock | undefined {
  const path = join(folder, LOCK_FILE);
  if (createExclusively(path)) return { release: () => rmSync(path, { force: true }) };
  if (isOwnerAlive(readText(path)) || !beginTakeover(folder)) return undefined;
  try {
    // Looked at again under the takeover's own lock: another process may have taken it over a moment ago.
    if (isOwnerAlive(readText(path))) return undefined;
    rmSync(path, { force: true });
    return createExclusively(path) ? { release: () => rmSync(path, { force: true }) } : undefined;
  } finally {
    rmSync(join(folder, TAKEOVER_FILE), { force: true });
  }
}

function beginTakeover(folder: string): boolean {
  const path = join(folder, TAKEOVER_FILE);
  if (createExclusively(path)) return true;
  const startedAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  if (startedAt !== undefined && Date.now() - startedAt > TAKEOVER_MAX_MS)
    rmSync(path, { force: true });
  return false;
}

/** Linked into place, so that nobody ever reads a lock without its owner. False when it exists; other errors are the caller's to see. */
function createExclusively(path: string): boolean {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${process.pid} ${startTimeOf(process.pid) ?? ''}`, { mode: 0o600 });
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (typeof error === 'object' && error !== null && 'code' in error && error.code === 'EEXIST')
      return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function isOwnerAlive(text: string | undefined): boolean {
  if (text === undefined) return false;
  const [pidText = '', ...startTime] = text.split(' ');
  const pid = Number(pidText);
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  const running = startTimeOf(pid);
  return running !== undefined && running === startTime.join(' ');
}

/** Linux: field 22 of /proc/<pid>/stat, in clock ticks since boot, with the boot's id. Elsewhere: what ps says. */
function startTimeOf(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat !== undefined)
    return `${readText('/proc/sys/kernel/random/boot_id')?.trim() ?? ''} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''}`;
  if (process.platform === 'linux') return undefined;
  try {
    return (
      execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() ||
      undefined
    );
  } catch {
    return undefined;
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
