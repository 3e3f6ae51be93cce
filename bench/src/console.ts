import { spawn } from 'node:child_process';
import path from 'node:path';

const PROGRAM = path.resolve(import.meta.dirname, '../../tests/console/src/figures.ts');

/** Runs `npm run bench -- console [part ...]` in a browser, by the program beside the console's own tests, which names the parts. */
export function benchConsole(parts: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [PROGRAM, ...parts], { stdio: 'inherit' });
    child.on('error', reject);
    child.on('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`the measurement ended with ${code}`)),
    );
  });
}
