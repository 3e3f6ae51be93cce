import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder } from '@tollgate/tools';
import { codingClients, pinNewest } from './pins.ts';
import { preparePython, systemPython } from './python-environments.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');

/**
 * `npm run test:clients [-- <jest arguments>]` runs every client of docs/api-guide.md, Claude Code and Codex among them, and the Python clients, against a real
 * node. With `--update` it pins the newest version of each instead.
 */
async function main(args: readonly string[]): Promise<number> {
  if (args.includes('--update')) {
    pinNewest(systemPython());
    return 0;
  }
  const folder = path.join(cacheFolder(), 'coding-clients');
  if (!isInstalled(folder)) {
    const packages = Object.entries(codingClients()).map(([name, version]) => `${name}@${version}`);
    console.log(`Fetching ${packages.join(' and ')} into ${folder} ...`);
    mkdirSync(folder, { recursive: true });
    const code = await run(
      'npm',
      ['install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts', ...packages],
      {},
    );
    if (code !== 0)
      throw new Error(
        'The coding clients could not be installed.\n  Fix: run it again with the network; `npm test` does not need them.',
      );
  }
  const python = path.join(cacheFolder(), 'python-clients');
  const hasPython = preparePython(python);
  const jest = [
    '--experimental-vm-modules',
    '--no-warnings',
    path.join(ROOT, 'node_modules/jest/bin/jest.js'),
    'tests/clients',
    '--testMatch',
    '**/*.spec.ts',
    '**/*.heavy.ts',
    '--runInBand',
  ];
  return run(process.execPath, [...jest, ...args], {
    TOLLGATE_CODING_CLIENTS: folder,
    TOLLGATE_PYTHON_CLIENTS: hasPython ? python : '',
  });
}

function isInstalled(folder: string): boolean {
  return Object.entries(codingClients()).every(([name, version]) => {
    const manifest = path.join(folder, 'node_modules', name, 'package.json');
    return (
      existsSync(manifest) && readFileSync(manifest, 'utf8').includes(`"version": "${version}"`)
    );
  });
}

function run(
  program: string,
  args: readonly string[],
  env: Record<string, string>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: ROOT,
      stdio: 'inherit',
      env: { ...process.env, ...env },
    });
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => child.kill(signal));
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

process.exitCode = await main(process.argv.slice(2));
