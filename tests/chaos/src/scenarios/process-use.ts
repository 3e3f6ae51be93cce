import { readdirSync, readFileSync } from 'node:fs';

/** Holds what a process takes of the machine right now (Linux). */
export interface ProcessUse {
  rssBytes: number;
  openFiles: number;
  /** Counts the time on one core since its start. */
  processorMs: number;
  /** Is the time in which it was ready to run while others had the cores. */
  waitedMs: number;
}

/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10;

export function readUse(pid: number): ProcessUse {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  // Fields 14 and 15 are user and system; the second, the name in brackets, may hold blanks.
  const [user = 0, system = 0] = (
    readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1) ?? ''
  )
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return {
    rssBytes: Number(kilobytes ?? 0) * 1_024,
    openFiles: readdirSync(`/proc/${pid}/fd`).length,
    processorMs: (user + system) * TICK_MS,
    waitedMs: Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6,
  };
}

/** Returns how many files this process and those it starts may open each. */
export function openFilesMax(): number {
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(
    readFileSync('/proc/self/limits', 'utf8'),
  )?.[1];
  return soft === undefined || soft === 'unlimited' ? Infinity : Number(soft);
}

export function inMegabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MB`;
}
