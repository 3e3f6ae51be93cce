import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { build } from '../build.ts';
import { ROOT } from '../checkout.ts';

/** Runs the first existing TypeScript program of the list (paths from the root) after a build, with the current terminal. */
export async function runProgram(
  command: string,
  programs: readonly string[],
  args: readonly string[],
  compile: () => Promise<void> = build,
): Promise<number> {
  const program = programs.map((file) => path.join(ROOT, file)).find((file) => existsSync(file));
  if (!program) {
    console.error(
      `There is no program for "${command}" in this checkout; looked for ${programs.join(', ')}.`,
    );
    return 1;
  }
  await compile();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], { cwd: ROOT, stdio: 'inherit' });
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => child.kill(signal));
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}
