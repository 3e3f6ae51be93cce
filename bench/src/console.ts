import { spawn } from 'node:child_process';
import path from 'node:path';

const PROGRAM = path.resolve(import.meta.dirname, '../../tests/console/src/figures.ts');

/** `npm run bench -- console`: in a browser, by the program beside the console's own tests. */
export function benchConsole(): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [PROGRAM], { stdio: 'inherit' });
    child.on('error', reject);
    child.on('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`the measurement ended with ${code}`)),
    );
  });
}
