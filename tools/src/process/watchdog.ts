import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { readLivePid, reclaim, removePidFile, writePidFile } from './pid-file.ts';
import { terminate, type Termination } from './terminate.ts';

/**
 * Ends what a killed parent leaves behind. A process of its own that waits for the end of its standard input, which the parent's death
 * brings about whatever killed it, then ends all processes on record in the run folder.
 */
export interface Watchdog {
  /** Makes the watchdog finish after the parent has stopped its processes, and waits for that. */
  release: () => Promise<void>;
}

const NAME = 'watchdog';
const STOP = { steps: [{ signal: 'SIGKILL', graceMs: 1_000 }] } as const satisfies Termination;

/** @param disposableFolder deleted at the end, with all that is in it */
export function startWatchdog(runFolder: string, disposableFolder = ''): Watchdog {
  const child = spawn(
    process.execPath,
    [import.meta.filename, runFolder, disposableFolder, String(process.pid)],
    {
      stdio: ['pipe', 'ignore', 'ignore'],
      // The watchdog has a process group of its own, so that Ctrl-C does not reach it.
      detached: true,
      cwd: '/',
    },
  );
  child.unref();
  if (child.pid !== undefined) writePidFile(runFolder, NAME, child.pid, STOP);
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  return {
    release: async () => {
      child.ref();
      child.stdin?.end();
      await exited;
    },
  };
}

/** Lets the watchdog of a killed earlier run finish, so that it and the new run do not work on the same files. */
export async function awaitEarlierWatchdog(runFolder: string, limitMs: number): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (readLivePid(runFolder, NAME) && Date.now() < deadline) await delay(20);
  const stuck = readLivePid(runFolder, NAME);
  if (stuck) await terminate(stuck.pid, stuck.identity, STOP);
}

async function watch([
  runFolder = '',
  disposableFolder = '',
  parentPid = '',
]: readonly string[]): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  for await (const _ of process.stdin);
  // A parent that still lives has let us go and waits for us: it must not be on our list, though it may be on record.
  await reclaim(runFolder, (name, { pid }) => name !== NAME && pid !== Number(parentPid));
  removePidFile(runFolder, NAME, process.pid);
  if (disposableFolder) rmSync(disposableFolder, { recursive: true, force: true });
}

if (process.argv[1] === import.meta.filename) await watch(process.argv.slice(2));
