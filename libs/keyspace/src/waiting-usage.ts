import type { RedisConnection } from './redis-connection.ts';
import { keys, shardNames } from './keys.ts';

export interface WaitingUsage {
  /** Events in the outboxes. */
  events: number;
  /** Unix ms of Redis' clock; null when all outboxes are empty. */
  oldestAtMs: number | null;
  /** Open holds. */
  holds: number;
}

/** All shards together; for metrics, so not one moment's picture. */
export async function waitingUsage(redis: RedisConnection, shards: number): Promise<WaitingUsage> {
  const all = await Promise.all(shardNames(shards).map((shard) => waitingIn(redis, shard)));
  const oldest = all.flatMap(({ oldestAtMs }) => oldestAtMs ?? []);
  return {
    events: all.reduce((sum, { events }) => sum + events, 0),
    oldestAtMs: oldest.length > 0 ? Math.min(...oldest) : null,
    holds: all.reduce((sum, { holds }) => sum + holds, 0),
  };
}

async function waitingIn(redis: RedisConnection, shard: string): Promise<WaitingUsage> {
  const outbox = keys.outbox(shard);
  const [events, [entry], holds] = await Promise.all([
    redis.xlen(outbox),
    redis.xrange(outbox, '-', '+', 'COUNT', 1),
    redis.zcard(keys.holds(shard)),
  ]);
  return { events, oldestAtMs: entry ? Number(entry[0].split('-')[0]) : null, holds };
}
