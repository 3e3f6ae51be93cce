import { existsSync } from 'node:fs';
import path from 'node:path';
import {
  debianFolder,
  downloadDebianPackages,
  libraryFolders,
  type DebianPackages,
} from './debian-packages.ts';
import type { RedisBinary } from './redis-binary.ts';

const REDIS: DebianPackages = {
  name: 'redis',
  wanted: ['redis-server', 'redis-tools'],
  known: [
    'redis-server',
    'redis-tools',
    'libjemalloc2',
    'liblua5.1-0',
    'liblzf1',
    'lua-bitop',
    'lua-cjson',
    'libatomic1',
  ],
};

/** The copy of an earlier download, or why there is none. */
export async function cachedRedis(): Promise<RedisBinary | string> {
  const binary = binaryIn(debianFolder(REDIS));
  return existsSync(binary.server) ? binary : 'empty';
}

/** The distribution's own redis-server in the cache, or why it could not be had. */
export async function downloadDebianRedis(): Promise<RedisBinary | string> {
  return (await downloadDebianPackages(REDIS)) ?? binaryIn(debianFolder(REDIS));
}

function binaryIn(root: string): RedisBinary {
  return {
    server: path.join(root, 'usr', 'bin', 'redis-server'),
    checkerName: 'redis-check-aof',
    env: { LD_LIBRARY_PATH: libraryFolders(root).join(':') },
  };
}
