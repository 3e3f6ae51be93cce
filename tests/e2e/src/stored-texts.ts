import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { keysLike, type RedisConnection } from '@tollgate/keyspace';

/** Returns all texts in Redis: snapshots, reports, incidents, holds, outboxes and queues. A dump by Redis would be compressed. */
export async function redisTexts(redis: RedisConnection): Promise<string[]> {
  const read = async (name: string): Promise<unknown> => {
    switch (await redis.type(name)) {
      case 'string':
        return redis.get(name);
      case 'hash':
        return redis.hgetall(name);
      case 'list':
        return redis.lrange(name, 0, -1);
      case 'set':
        return redis.smembers(name);
      case 'zset':
        return redis.zrange(name, '0', '-1');
      case 'stream':
        return redis.xrange(name, '-', '+');
      default:
        return null;
    }
  };
  const names = await keysLike(redis, '*');
  return Promise.all(
    names.map(async (name) => {
      const value = await read(name);
      return `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`;
    }),
  );
}

/** Returns the journals, the snapshots, and whatever else nodes keep below this folder. */
export async function diskTexts(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return Promise.all(
    files.map((file) => readFile(path.join(file.parentPath, file.name), 'latin1')),
  );
}
