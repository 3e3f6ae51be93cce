import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import type { LoadOrder, LoadReport } from './load-order.ts';

const CONNECTED = { stdio: ['ignore', 'pipe', 'inherit'] as ['ignore', 'pipe', 'inherit'] };

export interface Helper {
  pid: number;
  url: string;
  stop: () => void;
}

/** A program of this folder that prints its port. */
export async function startHelper(file: string, args: readonly string[] = []): Promise<Helper> {
  const child = start(file, args);
  const port = Number(await firstLine(child));
  return { pid: child.pid ?? 0, url: `http://127.0.0.1:${port}`, stop: () => child.kill() };
}

export async function load(
  order: Pick<LoadOrder, 'url' | 'keys'> & Partial<LoadOrder>,
): Promise<LoadReport> {
  const whole: LoadOrder = {
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
  const child = start('load.ts', [JSON.stringify(whole)]);
  if (child.pid !== undefined) pinToOthers(child.pid);
  return JSON.parse(await firstLine(child)) as LoadReport;
}

/** What is measured has the first core to itself as far as this bench is concerned; nothing happens on a machine of one core or without taskset. */
export function pinToFirst(pid: number): void {
  pin(pid, '0');
}

export function pinToOthers(pid: number): void {
  pin(pid, `1-${availableParallelism() - 1}`);
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
