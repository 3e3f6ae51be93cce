import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { recordedPids, writePidFile } from './pid-file.ts';
import { SUPERVISOR, SUPERVISOR_STOP } from './supervisor.ts';
import type { Termination } from './terminate.ts';

/** Names the folder of its record in the environment of each process that `ManagedProcess` starts. */
export const RUN_MARK = 'TOLLGATE_RUN';
const COMMAND = path.join('tools', 'src', 'cli.ts');
/** They write the title of their process over their environment, and work in the folder of their data. */
const SERVERS = new Set(['postgres', 'redis-server']);
const APP_STOP: Termination = { steps: [{ signal: 'SIGTERM', graceMs: 12_000 }] };
/** PostgreSQL waits for no session then; Redis stops as usual. */
const SERVER_STOP: Termination = { steps: [{ signal: 'SIGINT', graceMs: 15_000 }], isLast: true };

interface Found {
  pid: number;
  parent: number;
  isServer: boolean;
}

/**
 * Records the processes of a run folder again that have no record, because someone deleted it: a start would begin beside them, and a stop would find
 * nothing. The supervisor is the command that has them as children. Only Linux shows what this reads.
 */
export function restoreRecords(run: string, dataFolders: readonly string[]): void {
  const known = recordedPids(run);
  const found = listPids().flatMap((pid) => lookAt(pid, run, dataFolders));
  const pids = new Set(found.map(({ pid }) => pid));
  // Workers of a node and sessions of PostgreSQL end with their parents.
  for (const { pid, parent, isServer } of found.filter((each) => !pids.has(each.parent))) {
    if (!known.has(pid)) writePidFile(run, `found-${pid}`, pid, isServer ? SERVER_STOP : APP_STOP);
    if (parent === process.pid || known.has(parent)) continue;
    if (textOf(parent, 'cmdline').includes(COMMAND))
      writePidFile(run, SUPERVISOR, parent, SUPERVISOR_STOP);
  }
}

function lookAt(pid: number, run: string, dataFolders: readonly string[]): Found[] {
  const isServer = SERVERS.has(textOf(pid, 'comm').trim()) && worksIn(pid, dataFolders);
  const isApp = textOf(pid, 'environ').split('\0').includes(`${RUN_MARK}=${run}`);
  if (!isServer && !isApp) return [];
  const parent = Number(/^PPid:\s+(\d+)/m.exec(textOf(pid, 'status'))?.[1]);
  return [{ pid, parent, isServer }];
}

function worksIn(pid: number, folders: readonly string[]): boolean {
  try {
    const at = `${readlinkSync(`/proc/${pid}/cwd`)}${path.sep}`;
    return folders.some((folder) => at.startsWith(`${folder}${path.sep}`));
  } catch {
    return false;
  }
}

function listPids(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

/** Returns '' where the process has ended or is another user's. */
function textOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}
