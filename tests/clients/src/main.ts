import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder } from '@tollgate/tools';
import { preparePython } from './python-environment.ts';

/** Hundreds of megabytes, so neither in the lockfile nor in `npm test`: fetched once into the download cache. */
const CODING_CLIENTS = { '@anthropic-ai/claude-code': '2.1.329', '@openai/codex': '0.169.0' };
const ROOT = path.resolve(import.meta.dirname, '../../..');

/** `npm run test:clients [-- <jest arguments>]`: every client of docs/api-guide.md, Claude Code and Codex among them, and the Python clients, against a real node. */
async function main(args: readonly string[]): Promise<number> {
  const folder = path.join(cacheFolder(), 'coding-clients');
  if (!isInstalled(folder)) {
    console.log(`Fetching ${Object.keys(CODING_CLIENTS).join(' and ')} into ${folder} ...`);
    mkdirSync(folder, { recursive: true });
    const packages = Object.entries(CODING_CLIENTS).map(([name, version]) => `${name}@${version}`);
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
  const python = preparePython(path.join(cacheFolder(), 'python-clients'));
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
    TOLLGATE_PYTHON_CLIENTS: python ?? '',
  });
}

function isInstalled(folder: string): boolean {
  return Object.entries(CODING_CLIENTS).every(([name, version]) => {
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
