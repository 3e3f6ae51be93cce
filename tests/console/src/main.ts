import { spawn } from 'node:child_process';
import path from 'node:path';
import { findBrowser, installBrowser } from './find-browser.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');

/** Runs `npm run test:console [-- <jest arguments>]`: the console in a real browser, against a real installation. It installs the browser where it may. */
async function main(args: readonly string[]): Promise<number> {
  if (findBrowser() === undefined) {
    console.log('Installing chromium ...');
    const problem = installBrowser();
    if (problem !== undefined) {
      console.log(
        `The console is not tested: there is no chromium, and it could not be installed (${problem}).\n  Fix: install chromium, or name a browser in CHROMIUM.`,
      );
      return 0;
    }
  }
  const jest = [
    '--experimental-vm-modules',
    '--no-warnings',
    path.join(ROOT, 'node_modules/jest/bin/jest.js'),
    '--testMatch',
    '**/tests/console/**/*.spec.ts',
    '--runInBand',
  ];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...jest, ...args], { cwd: ROOT, stdio: 'inherit' });
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => child.kill(signal));
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

process.exitCode = await main(process.argv.slice(2));
