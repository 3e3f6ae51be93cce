import { spawnSync } from 'node:child_process';
import { packageManagerEnvironment } from './debian-packages.mjs';

interface PackageManager {
  command: string;
  args: string[];
  needsRoot: boolean;
}

const PACKAGE_MANAGERS: readonly PackageManager[] = [
  {
    command: 'apt-get',
    args: ['install', '-y', '--no-install-recommends', 'redis-server'],
    needsRoot: true,
  },
  { command: 'apk', args: ['add', 'redis'], needsRoot: true },
  { command: 'dnf', args: ['install', '-y', 'redis'], needsRoot: true },
  { command: 'dnf', args: ['install', '-y', 'valkey'], needsRoot: true },
  { command: 'brew', args: ['install', 'redis'], needsRoot: false },
];

/** Asks the system's package manager as the last resort. Returns why it failed, or undefined when one installed something. */
export function installRedis(): string | undefined {
  const isRoot = process.getuid?.() === 0;
  const problems: string[] = [];
  for (const { command, args, needsRoot } of PACKAGE_MANAGERS) {
    if (needsRoot !== isRoot) continue;
    const result = spawnSync(command, args, { encoding: 'utf8', env: packageManagerEnvironment() });
    if (result.status === 0) return undefined;
    problems.push(
      `${command}: ${result.error ? 'not there' : result.stderr.trim().split('\n').at(-1)}`,
    );
  }
  return problems.join('; ');
}
