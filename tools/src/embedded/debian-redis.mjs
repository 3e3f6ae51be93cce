import { existsSync } from 'node:fs';
import path from 'node:path';
import { STATE_FOLDER } from '../cache-folder.mjs';
import { withLock } from '../process/checkout-lock.mjs';
import { debianFolder, downloadDebianPackages, libraryFolders } from './debian-packages.mjs';

/** @typedef {import('./redis-binary.ts').RedisBinary} RedisBinary */

const LOCK_FILE = path.join(STATE_FOLDER, 'redis.lock');

/** @type {import('./debian-packages.mjs').DebianPackages} */
const REDIS = {
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

/**
 * The copy of an earlier download, or why there is none.
 * @returns {Promise<RedisBinary | string>}
 */
export async function cachedRedis() {
  const binary = binaryIn(debianFolder(REDIS));
  return existsSync(binary.server) ? binary : 'empty';
}

/**
 * The distribution's own redis-server in the cache, or why it could not be had. Plain JavaScript because the bootstrap fetches it
 * while it installs, before Node 26 is there; a start that gets here meanwhile waits for that copy.
 * @param {AbortSignal} [signal] ends the download
 * @returns {Promise<RedisBinary | string>}
 */
export function downloadDebianRedis(signal) {
  return withLock(LOCK_FILE, async () => {
    const fetched = await cachedRedis();
    if (typeof fetched !== 'string') return fetched;
    return (await downloadDebianPackages(REDIS, signal)) ?? binaryIn(debianFolder(REDIS));
  });
}

/**
 * @param {string} root
 * @returns {RedisBinary}
 */
function binaryIn(root) {
  return {
    server: path.join(root, 'usr', 'bin', 'redis-server'),
    checkerName: 'redis-check-aof',
    env: { LD_LIBRARY_PATH: libraryFolders(root).join(':') },
  };
}
