import { setTimeout as delay } from 'node:timers/promises';
import { identityOf } from './process-identity.mjs';

const POLL_MS = 20;
const KILL_WAIT_MS = 5_000;

/** Describes how a process is asked to end: each signal gets its time, then SIGKILL goes to its whole process group. */
export interface Termination {
  readonly steps: readonly { readonly signal: NodeJS.Signals; readonly graceMs: number }[];
  /** Is true for a process in which others keep their data: it ends after them. */
  readonly isLast?: boolean;
}

/** Resolves once the process is gone. It never signals a pid that has passed to another process. */
export async function terminate(
  pid: number,
  identity: string,
  { steps }: Termination,
): Promise<void> {
  for (const { signal, graceMs } of steps) {
    if (!sendTo(pid, identity, signal)) return;
    if (await isGoneWithin(pid, identity, graceMs)) return;
  }
  // Ours are started as leaders of their own group, so this takes their children along.
  if (!sendTo(-pid, identity, 'SIGKILL')) sendTo(pid, identity, 'SIGKILL');
  if (!(await isGoneWithin(pid, identity, KILL_WAIT_MS)))
    throw new Error(`Process ${pid} survived SIGKILL.`);
}

function sendTo(target: number, identity: string, signal: NodeJS.Signals): boolean {
  if (identityOf(Math.abs(target)) !== identity) return false;
  try {
    return process.kill(target, signal);
  } catch {
    return false;
  }
}

async function isGoneWithin(pid: number, identity: string, limitMs: number): Promise<boolean> {
  for (const deadline = Date.now() + limitMs; ; await delay(POLL_MS)) {
    if (identityOf(pid) !== identity) return true;
    if (Date.now() >= deadline) return false;
  }
}
