import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder } from '@tollgate/tools';

/** Schemathesis (https://schemathesis.readthedocs.io) generates requests from an API document and judges the answers by it. */
const VERSION = '4.32.5';

/** Installs the program in a Python environment of its own in the download cache. Throws with the fix when there is no Python or no package index. */
export function installSchemathesis(): string {
  const folder = path.join(cacheFolder(), `schemathesis-${VERSION}`);
  const program = path.join(folder, 'bin', 'schemathesis');
  if (existsSync(program)) return program;
  console.log(`Fetching schemathesis ${VERSION} into ${folder} ...`);
  mkdirSync(path.dirname(folder), { recursive: true });
  must('python3', ['-m', 'venv', folder], 'Install Python 3.10 or newer with its venv module.');
  const pip = path.join(folder, 'bin', 'pip');
  const packages = [
    'install',
    '--quiet',
    '--disable-pip-version-check',
    `schemathesis==${VERSION}`,
  ];
  must(pip, packages, 'Run it again with the network; npm test does not need it.');
  return program;
}

/** Streams its output; answers its exit status: 0 when nothing is unexplained. */
export function runProgram(
  program: string,
  args: readonly string[],
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string>> },
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => child.kill(signal));
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

function must(program: string, args: readonly string[], fix: string): void {
  const { status, error, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status === 0) return;
  throw new Error(`${program} ${args[0]} failed: ${error?.message ?? stderr}\n  Fix: ${fix}`);
}
