import { execFileSync } from 'node:child_process';
import {
  linkSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/**
 * The lock of earlier releases: a file that names its process. It is still honoured, and still written, so that a node of either release
 * keeps off a folder that the other one uses. What decides between nodes of this release is the kernel's lock (journal-lock.ts).
 */
const MARK_FILE = 'lock';
const TAKEOVER_FILE = 'lock.takeover';
/** A takeover is a few system calls; one older than this was interrupted. */
const TAKEOVER_MAX_MS = 10_000;
/** `/proc/self/ns/pid` of the namespace that sees every process of the machine (PROC_PID_INIT_INO in Linux' include/linux/proc_ns.h). */
const FIRST_PID_NAMESPACE = 'pid:[4026531836]';

/** A process id with its start time, so that a reused process id never looks like a live owner. */
export function ownMark(): string {
  return `${process.pid} ${startTimeOf(process.pid) ?? ''}`;
}

export function readMark(folder: string): string | undefined {
  return readText(join(folder, MARK_FILE));
}

/**
 * Removes a mark whose owner is gone; to be called while the kernel's lock is held. False while an owner of an earlier release lives, or may live.
 * `earlier`: the mark of the last holder of the kernel lock, which is known to have exited.
 */
export function clearMark(folder: string, earlier: string | undefined): boolean {
  const isLeft = (text: string | undefined): boolean =>
    text === undefined || text === earlier || isGone(text);
  if (readMark(folder) === undefined) return true;
  if (!isLeft(readMark(folder)) || !beginTakeover(folder)) return false;
  try {
    // Read again within the takeover: a node of an earlier release may have taken it over a moment ago.
    if (!isLeft(readMark(folder))) return false;
    removeMark(folder);
    return true;
  } finally {
    rmSync(join(folder, TAKEOVER_FILE), { force: true });
  }
}

/** False when a node of an earlier release was faster. */
export function writeMark(folder: string): boolean {
  return createExclusively(join(folder, MARK_FILE));
}

export function removeMark(folder: string): void {
  rmSync(join(folder, MARK_FILE), { force: true });
}

/** Certainly no process of this machine. A process that another container may hide is not certainly gone. */
function isGone(mark: string): boolean {
  const [pid = '', ...startTime] = mark.split(' ');
  if (!/^\d+$/.test(pid) || startTime.join('') === '') return false;
  if (process.platform !== 'linux') return startTimeOf(Number(pid)) !== startTime.join(' ');
  const [boot, ticks] = startTime;
  // The machine was started again since.
  if (boot !== bootId()) return true;
  return seesEveryProcess() && !startTicks().has(ticks ?? '');
}

function seesEveryProcess(): boolean {
  try {
    // Process 1 is hidden from others where /proc is mounted with hidepid.
    return (
      readlinkSync('/proc/self/ns/pid') === FIRST_PID_NAMESPACE && startTimeOf(1) !== undefined
    );
  } catch {
    return false;
  }
}

/** When each process of the machine began. A process id means something in its own namespace alone; this is the same in all. */
function startTicks(): Set<string | undefined> {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return new Set(pids.map((pid) => startTimeOf(Number(pid))?.split(' ')[1]));
}

function beginTakeover(folder: string): boolean {
  const path = join(folder, TAKEOVER_FILE);
  if (createExclusively(path)) return true;
  const startedAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  // A file from the future was written before the clock was set back.
  if (startedAt !== undefined && Math.abs(Date.now() - startedAt) > TAKEOVER_MAX_MS)
    rmSync(path, { force: true });
  return false;
}

/** Linked into place, so that no process ever reads a mark without its owner. False when it exists; other errors are the caller's to see. */
function createExclusively(path: string): boolean {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, ownMark(), { mode: 0o600 });
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

/** Linux: the boot's id with field 22 of /proc/<pid>/stat, in clock ticks since boot. Elsewhere: what ps says. */
function startTimeOf(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat !== undefined)
    return `${bootId()} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''}`;
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

function bootId(): string {
  return readText('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
