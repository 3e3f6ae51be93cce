import { spawn, type SpawnOptions } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { BIN_FOLDER, ROOT, STATE_FOLDER } from './checkout.ts';
import { withLock } from './process/checkout-lock.mjs';

/** Lists the projects whose output runs; the libraries are built with them. */
export const APP_PROJECTS = [
  'apps/control-plane',
  'apps/proxy-node',
  'apps/front-door',
  'apps/demo-upstream',
  'apps/cli',
] as const;

/** Runs `tsc -b`, which skips unchanged projects. It throws with the compiler's messages. */
export const build = (projects: readonly string[] = ['.']): Promise<void> => compile(projects, []);

/**
 * Builds the same output in a third of the time: types are not checked, and packages of types are not needed. It serves commands that run a checkout;
 * a later `build` of the same projects checks the types.
 */
export const buildUnchecked = (projects: readonly string[]): Promise<void> =>
  compile(projects, ['--noCheck']);

async function compile(projects: readonly string[], options: readonly string[]): Promise<void> {
  await withLock(path.join(STATE_FOLDER, 'build.lock'), async () => {
    const { code, output } = await collect(path.join(BIN_FOLDER, 'tsc'), [
      '-b',
      ...options,
      ...projects,
    ]);
    if (code !== 0) throw new Error(`The build failed:\n${output}`);
  });
}

/** Builds the console that the control plane serves at `/`, only when a source has changed, so that later starts do not wait. */
export async function buildConsole(): Promise<void> {
  const folder = path.join(ROOT, 'apps', 'console');
  await withLock(path.join(STATE_FOLDER, 'build-console.lock'), async () => {
    const stamp = stampOf([folder, path.join(ROOT, 'libs', 'admin-client', 'src')]);
    const stampFile = path.join(folder, 'dist', 'web.stamp');
    if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
    const { code, output } = await collect(
      path.join(folder, 'node_modules', '.bin', 'vite'),
      ['build', '--logLevel', 'warn'],
      // NODE_ENV is fixed whatever the caller's environment is: React's development build is half as large again.
      { cwd: folder, env: { ...process.env, NODE_ENV: 'production' } },
    );
    if (code !== 0) throw new Error(`The console could not be built:\n${output}`);
    writeFileSync(stampFile, stamp);
  });
}

/** Returns names, sizes and times of all sources. Nothing else can change the result. */
function stampOf(folders: readonly string[]): string {
  const hash = createHash('sha256');
  for (const folder of folders)
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
      if (/^(dist|node_modules)(\/|$)/.test(name)) continue;
      const { size, mtimeMs } = statSync(path.join(folder, name));
      hash.update(`${name} ${size} ${mtimeMs}\n`);
    }
  return hash.digest('hex');
}

function collect(
  command: string,
  args: readonly string[],
  where: Pick<SpawnOptions, 'cwd' | 'env'> = { cwd: ROOT },
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...where, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes) => (output += bytes));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}
