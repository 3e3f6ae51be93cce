import type { Redis } from 'ioredis';
import { primariesOf } from './functions/function-library.ts';
import type { RedisConnection } from './connection/redis-connection.ts';

/**
 * Returns how full the fullest primary is, from 0 to 1: used memory of `maxmemory`, or of the machine if none is set.
 * https://redis.io/docs/latest/commands/info/
 */
export async function memoryUse(redis: RedisConnection): Promise<number> {
  return Math.max(0, ...(await Promise.all(primariesOf(redis).map(useOf))));
}

async function useOf(primary: Redis): Promise<number> {
  const info = await primary.info('memory');
  const limit = valueOf(info, 'maxmemory') || valueOf(info, 'total_system_memory');
  return limit > 0 ? valueOf(info, 'used_memory') / limit : 0;
}

function valueOf(info: string, name: string): number {
  return Number(new RegExp(`^${name}:(\\d+)\\r?$`, 'm').exec(info)?.[1] ?? 0);
}
