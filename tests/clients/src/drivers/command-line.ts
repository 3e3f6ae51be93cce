import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Command {
  program: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
  timeoutMs: number;
}

/** Runs a command with nothing of this process's environment but PATH, and with no input. It is killed when it takes too long. */
export function run({ program, args, env, cwd, timeoutMs }: Command): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      env: { PATH: process.env['PATH'] ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    const finished: Finished = { code: null, stdout: '', stderr: '' };
    child.stdout.on('data', (bytes: Buffer) => (finished.stdout += bytes.toString('utf8')));
    child.stderr.on('data', (bytes: Buffer) => (finished.stderr += bytes.toString('utf8')));
    child.on('error', reject);
    child.on('close', (code) => resolve({ ...finished, code }));
  });
}

/** Makes a folder that is gone afterwards. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(path.join(tmpdir(), 'tollgate-client-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
