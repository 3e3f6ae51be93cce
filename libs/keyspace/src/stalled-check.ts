import type { RedisConnection } from './function-library.ts';
import { BULL_PREFIX } from './keys.ts';

/**
 * BullMQ looks for jobs whose worker died once an interval, which a key that expires keeps. When Redis' clock was ahead and is set right,
 * that key outlives its time by as much, and nobody looks meanwhile: it goes when it has longer to live than it was given.
 * True when it was in the way.
 */
export async function freeStalledCheck(
  redis: Pick<RedisConnection, 'pttl' | 'del'>,
  { queue, intervalMs }: { queue: string; intervalMs: number },
): Promise<boolean> {
  const key = `${BULL_PREFIX}:${queue}:stalled-check`;
  if ((await redis.pttl(key)) <= intervalMs) return false;
  await redis.del(key);
  return true;
}
