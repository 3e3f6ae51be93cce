import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { identityOf } from './process-identity.mjs';
import { terminate, type Termination } from './terminate.ts';

/** One file per running process, so that whoever comes after a crash knows what is ours. */
export interface PidRecord {
  pid: number;
  /** As `identityOf` gives it; without a match the pid belongs to someone else by now. */
  identity: string;
  stop: Termination;
}

export function writePidFile(folder: string, name: string, pid: number, stop: Termination): void {
  const identity = identityOf(pid);
  if (identity === undefined) return;
  mkdirSync(folder, { recursive: true });
  const record: PidRecord = { pid, identity, stop };
  // Renamed into place: a reader never sees half of it.
  const file = pidFile(folder, name);
  writeFileSync(`${file}.new`, JSON.stringify(record));
  renameSync(`${file}.new`, file);
}

export function removePidFile(folder: string, name: string): void {
  rmSync(pidFile(folder, name), { force: true });
}

/** The recorded process, if that very process still runs. */
export function readLivePid(folder: string, name: string): PidRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(pidFile(folder, name), 'utf8')) as PidRecord;
    return identityOf(record.pid) === record.identity ? record : undefined;
  } catch {
    return undefined;
  }
}

/** Ends every process recorded in `folder` that still runs and removes the files. Returns the names of those that had to be ended. */
export async function reclaim(folder: string, except: readonly string[] = []): Promise<string[]> {
  const names = listPidFiles(folder).filter((name) => !except.includes(name));
  const ended = await Promise.all(
    names.map(async (name) => {
      const record = readLivePid(folder, name);
      if (record) await terminate(record.pid, record.identity, record.stop);
      removePidFile(folder, name);
      return record ? name : undefined;
    }),
  );
  return ended.filter((name) => name !== undefined);
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
