import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { cachedRedis, downloadDebianRedis } from './debian-redis.mjs';
import { installRedis } from './install-redis.ts';
import type { RedisBinary } from './redis-binary.ts';

/** Functions (the library the admission scripts live in) came with Redis 7; Valkey has had them from its first release. */
const OLDEST_MAJOR = 7;
const SERVER_NAMES = ['redis-server', 'valkey-server'];

interface Step {
  name: string;
  find: () => Promise<RedisBinary | string>;
}

/** Holds the chain, in order. Each step answers a binary that runs, or why it has none. */
const STEPS: readonly Step[] = [
  { name: 'redis-server or valkey-server on PATH', find: async () => onPath() ?? 'not there' },
  { name: "this machine's download cache", find: async () => usable(await cachedRedis()) },
  {
    name: 'download of the Debian/Ubuntu package, unpacked into the cache',
    find: async () => usable(await downloadDebianRedis()),
  },
  {
    name: 'package manager',
    find: async () => installRedis() ?? onPath() ?? 'installed, but no redis-server on PATH',
  },
];

/** Finds a redis-server that runs here. Throws a message that names every step tried. */
export async function resolveRedis(): Promise<RedisBinary> {
  const failures: string[] = [];
  for (const { name, find } of STEPS) {
    const found = await find().catch((error: unknown) => String(error));
    if (typeof found !== 'string') return found;
    failures.push(`  - ${name}: ${found}`);
  }
  throw new Error(
    [
      'No Redis 7 or newer was found. Tried:',
      ...failures,
      '  Fix: install redis-server or valkey-server (7 or newer), or set REDIS_URL.',
    ].join('\n'),
  );
}

function onPath(): RedisBinary | string | undefined {
  let refused: string | undefined;
  for (const folder of (process.env.PATH ?? '').split(path.delimiter).filter(path.isAbsolute)) {
    for (const name of SERVER_NAMES) {
      const server = path.join(folder, name);
      if (!isExecutable(server)) continue;
      const found = usable({ server, checkerName: name.replace('server', 'check-aof'), env: {} });
      if (typeof found !== 'string') return found;
      refused = found;
    }
  }
  return refused;
}

function usable(found: RedisBinary | string): RedisBinary | string {
  if (typeof found === 'string') return found;
  const result = spawnSync(found.server, ['--version'], {
    env: { ...process.env, ...found.env },
    encoding: 'utf8',
  });
  const version = /v=(\d+)[.\d]*/.exec(result.stdout ?? '');
  if (!version)
    return `${found.server} does not run: ${result.error?.message ?? result.stderr.trim()}`;
  return Number(version[1]) >= OLDEST_MAJOR
    ? found
    : `${found.server} is too old (${version[0].slice(2)})`;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
