import { BULL_PREFIX } from './keys.ts';
import type { RedisConnection } from './connection/redis-connection.ts';

const LISTS = ['wait', 'active'];
const SORTED_SETS = ['delayed', 'failed', 'prioritized'];

/** Jobs of a BullMQ queue that are not done, read without opening the queue: that would write its keys. */
export async function unfinishedJobs(redis: RedisConnection, queue: string): Promise<number> {
  const sizes = await Promise.all([
    ...LISTS.map((name) => redis.llen(`${BULL_PREFIX}:${queue}:${name}`)),
    ...SORTED_SETS.map((name) => redis.zcard(`${BULL_PREFIX}:${queue}:${name}`)),
  ]);
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Deletes a key that would live longer than it may. Returns true when it did. */
export async function deleteOverlong(
  redis: RedisConnection,
  key: string,
  livesMsMax: number,
): Promise<boolean> {
  if ((await redis.pttl(key)) <= livesMsMax) return false;
  await redis.del(key);
  return true;
}
