import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import {
  createRoutedModel,
  startTollgate,
  type RoutedModel,
  type Tollgate,
} from '@tollgate/harness';

/** Is the `tollgate` command as an administrator has it, against a real control plane and a real node. */
const PROGRAM = path.join(import.meta.dirname, '../../../apps/cli/bin/tollgate.mjs');

export let tollgate: Tollgate;
export let model: RoutedModel;
export let home: string;
export let pendingId: number;

interface Ended {
  status: number | null;
  stdout: string;
  stderr: string;
}

export function run(
  args: string[],
  { env = {}, stdin = '' }: { env?: Record<string, string>; stdin?: string } = {},
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [PROGRAM, ...args], {
      env: { PATH: process.env.PATH, XDG_CONFIG_HOME: home, TOLLGATE_URL_OF_CHECKOUT: '', ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const ended: Ended = { status: null, stdout: '', stderr: '' };
    child.stdout.on('data', (bytes) => (ended.stdout += String(bytes)));
    child.stderr.on('data', (bytes) => (ended.stderr += String(bytes)));
    child.on('error', reject);
    child.on('close', (status) => resolve({ ...ended, status }));
    child.stdin.end(stdin);
  });
}
export const json = async (...args: string[]) =>
  JSON.parse((await run([...args, '--json'])).stdout);

/** Starts an installation, and a home of its own for the command; the spec calls it. */
export function shareTollgate(): void {
  beforeAll(async () => {
    home = mkdtempSync(path.join(tmpdir(), 'tollgate-cli-'));
    tollgate = await startTollgate({ nodes: 1 });
    model = await createRoutedModel(tollgate);
    pendingId = await tollgate.admin.register('petra', 'correct horse battery');
    await tollgate.admin.syncAll();
  }, 60_000);
  afterAll(async () => {
    await tollgate?.stop();
    rmSync(home, { recursive: true, force: true });
  }, 30_000);
}
