import type { RedisConnection } from './connection/redis-connection.ts';
import { keys, shardNames } from './keys.ts';
import { lastGeneratedId } from './connection/reply-reader.ts';

export interface WaitingUsage {
  /** Counts the events in the outboxes. */
  events: number;
  /** Is the time of the oldest event in Unix ms of Redis' clock; null when all outboxes are empty. */
  oldestAtMs: number | null;
  /** Counts the open holds. */
  holds: number;
}

/** Sums all shards for metrics; they are not read at one moment. */
export async function waitingUsage(redis: RedisConnection, shards: number): Promise<WaitingUsage> {
  const all = await Promise.all(shardNames(shards).map((shard) => waitingIn(redis, shard)));
  const oldest = all.flatMap(({ oldestAtMs }) => oldestAtMs ?? []);
  return {
    events: all.reduce((sum, { events }) => sum + events, 0),
    oldestAtMs: oldest.length > 0 ? Math.min(...oldest) : null,
    holds: all.reduce((sum, { holds }) => sum + holds, 0),
  };
}

/** Returns the id of the last event of each shard's outbox: it changes whenever a request has ended in between, also when the event has left since. */
export async function lastEvents(redis: RedisConnection, shards: number): Promise<string[]> {
  return Promise.all(shardNames(shards).map((shard) => lastEventIn(redis, shard)));
}

export async function lastEventIn(redis: RedisConnection, shard: string): Promise<string> {
  const [[error, stream] = []] =
    (await redis.pipeline().xinfo('STREAM', keys.outbox(shard)).exec()) ?? [];
  // Without a stream XINFO is an error; there was no event yet.
  if (error && !error.message.includes('no such key')) throw error;
  return error ? '0-0' : lastGeneratedId(stream);
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
