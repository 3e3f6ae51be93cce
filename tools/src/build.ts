import { spawn } from 'node:child_process';
import path from 'node:path';
import { BIN_FOLDER, ROOT, STATE_FOLDER } from './checkout.ts';
import { withLock } from './process/checkout-lock.mjs';

/** The projects whose output runs; libraries are built with them. */
export const APP_PROJECTS = [
  'apps/control-plane',
  'apps/proxy-node',
  'apps/front-door',
  'apps/demo-upstream',
  'apps/cli',
] as const;

/** `tsc -b`, which does nothing for what has not changed. Throws with the compiler's messages. */
export async function build(projects: readonly string[] = ['.']): Promise<void> {
  await withLock(path.join(STATE_FOLDER, 'build.lock'), async () => {
    const { code, output } = await collect(path.join(BIN_FOLDER, 'tsc'), ['-b', ...projects]);
    if (code !== 0) throw new Error(`The build failed:\n${output}`);
  });
}

function collect(
  command: string,
  args: readonly string[],
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes) => (output += bytes));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}
