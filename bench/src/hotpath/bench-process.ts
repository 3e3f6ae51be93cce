import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import type { LoadOrder, LoadReport } from './load-order.ts';

const CONNECTED = { stdio: ['ignore', 'pipe', 'inherit'] as ['ignore', 'pipe', 'inherit'] };

export interface Helper {
  pid: number;
  url: string;
  stop: () => void;
}

/** Starts a program of this folder that prints its port. */
export async function startHelper(
  file: string,
  args: readonly string[] = [],
  scheme: 'http' | 'https' = 'http',
): Promise<Helper> {
  const child = start(file, args);
  const port = Number(await firstLine(child));
  return { pid: child.pid ?? 0, url: `${scheme}://127.0.0.1:${port}`, stop: () => child.kill() };
}

export async function load(
  order: Pick<LoadOrder, 'url' | 'keys'> & Partial<LoadOrder>,
): Promise<LoadReport> {
  const whole: LoadOrder = {
    headers: {},
    model: 'bench-whole',
    isStream: false,
    promptBytes: 30,
    connections: 32,
    seconds: 2,
    requestsMax: Number.MAX_SAFE_INTEGER,
    perSecond: null,
    ...order,
    url: `${order.url}/v1/chat/completions`,
  };
  return report<LoadReport>('load.ts', whole);
}

/** Runs a program of this folder that prints one line of JSON. It does not share the first core. */
export async function report<T>(file: string, order: unknown): Promise<T> {
  const child = start(file, [JSON.stringify(order)]);
  if (child.pid !== undefined) pinToOthers(child.pid);
  return JSON.parse(await firstLine(child)) as T;
}

/** Lets processes open so many files. Node raises its own limit as far as the hard limit; above that only root can, by util-linux' prlimit. It throws when they cannot. */
export function allowFiles(files: number, pids: readonly number[]): void {
  for (const pid of pids) {
    if (filesMax(pid) >= files) continue;
    spawnSync('prlimit', ['--pid', String(pid), `--nofile=${files}:${files}`]);
    if (filesMax(pid) < files)
      throw new Error(
        `process ${pid} may open ${filesMax(pid)} files and needs ${files}: raise \`ulimit -n\`, or ask for fewer`,
      );
  }
}

function filesMax(pid: number): number {
  const text = readFileSync(`/proc/${pid}/limits`, 'utf8');
  const max = /^Max open files +(\S+)/m.exec(text)?.[1];
  return max === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(max);
}

/** Gives the process the first core for itself, as far as this bench is concerned. Does nothing on a machine of one core or without taskset. */
export function pinToFirst(pid: number): void {
  pin(pid, '0');
}

export function pinToOthers(pid: number): void {
  pin(pid, `1-${availableParallelism() - 1}`);
}

export function pinToAll(pid: number): void {
  pin(pid, `0-${availableParallelism() - 1}`);
}

function pin(pid: number, cores: string): void {
  if (availableParallelism() > 1) spawnSync('taskset', ['-acp', cores, String(pid)]);
}

function start(file: string, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [path.join(import.meta.dirname, file), ...args], CONNECTED);
}

async function firstLine(child: ChildProcess): Promise<string> {
  let text = '';
  for await (const bytes of child.stdout ?? []) {
    text += String(bytes);
    if (text.includes('\n')) return text.slice(0, text.indexOf('\n'));
  }
  throw new Error(`${child.spawnargs.join(' ')} ended without an answer`);
}
