import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { identityOf } from './process-identity.mjs';
import { terminate, type Termination } from './terminate.ts';

/** Describes one file per running process, so that the next start after a crash knows which processes are ours. */
export interface PidRecord {
  pid: number;
  /** Is the result of `identityOf`; without a match the pid belongs to someone else by now. */
  identity: string;
  stop: Termination;
}

export function writePidFile(folder: string, name: string, pid: number, stop: Termination): void {
  const identity = identityOf(pid);
  // The process has already gone: there is nothing to clean up after.
  if (identity === undefined) return;
  mkdirSync(folder, { recursive: true });
  const record: PidRecord = { pid, identity, stop };
  // The file is renamed into place: a reader never sees half of it.
  const file = pidFile(folder, name);
  writeFileSync(`${file}.new`, JSON.stringify(record));
  renameSync(`${file}.new`, file);
}

/** Removes the record of that one run; a newer run's record under the same name stays. */
export function removePidFile(folder: string, name: string, pid: number): void {
  if (readRecord(folder, name)?.pid === pid) rmSync(pidFile(folder, name), { force: true });
}

/** Returns the recorded process, if that very process still runs. */
export function readLivePid(folder: string, name: string): PidRecord | undefined {
  const record = readRecord(folder, name);
  return record && identityOf(record.pid) === record.identity ? record : undefined;
}

function readRecord(folder: string, name: string): PidRecord | undefined {
  try {
    return JSON.parse(readFileSync(pidFile(folder, name), 'utf8')) as PidRecord;
  } catch {
    return undefined;
  }
}

/** Ends every process recorded in `folder` that still runs and removes the files. Returns the names of those that had to be ended. */
export async function reclaim(
  folder: string,
  isWanted: (name: string, record: PidRecord) => boolean = () => true,
): Promise<string[]> {
  const found = listPidFiles(folder).flatMap((name) => {
    const record = readRecord(folder, name);
    return record && isWanted(name, record) ? [{ name, record }] : [];
  });
  const end = async ({ name, record }: { name: string; record: PidRecord }): Promise<string[]> => {
    const isAlive = identityOf(record.pid) === record.identity;
    if (isAlive) await terminate(record.pid, record.identity, record.stop);
    removePidFile(folder, name, record.pid);
    return isAlive ? [name] : [];
  };
  const first = await Promise.all(found.filter(({ record }) => !record.stop.isLast).map(end));
  const last = await Promise.all(found.filter(({ record }) => record.stop.isLast).map(end));
  return [...first, ...last].flat();
}

/** Returns the pids of all records, of living processes or not. */
export function recordedPids(folder: string): ReadonlySet<number> {
  return new Set(listPidFiles(folder).flatMap((name) => readRecord(folder, name)?.pid ?? []));
}

function listPidFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((file) => file.endsWith('.pid'))
      .map((file) => path.basename(file, '.pid'));
  } catch {
    return [];
  }
}

function pidFile(folder: string, name: string): string {
  return path.join(folder, `${name}.pid`);
}
