import type { Tollgate } from '@tollgate/harness';
import { openRedis, redisReady, shardNames } from '@tollgate/keyspace';
import pg from 'pg';
import { z } from 'zod';

const CONNECT_MS = 10_000;

/** Returns when each running request's hold would be reaped, unix ms by Redis' clock, by request id. */
export async function readLeases({
  redisUrl,
  shards,
}: Pick<Tollgate, 'redisUrl' | 'shards'>): Promise<Map<string, number>> {
  return withRedis(redisUrl, async (redis) => {
    const leases = new Map<string, number>();
    for (const shard of shardNames(shards)) {
      const flat = await redis.zrange(`{${shard}}:holds`, '0', '-1', 'WITHSCORES');
      for (let index = 0; index < flat.length; index += 2)
        leases.set(flat[index] ?? '', Number(flat[index + 1]));
    }
    return leases;
  });
}

export async function withRedis<T>(
  redisUrl: string,
  ask: (redis: ReturnType<typeof openRedis>) => Promise<T>,
): Promise<T> {
  const redis = openRedis(redisUrl, { role: 'plain', name: 'chaos', onError: () => undefined });
  try {
    await redisReady(redis, CONNECT_MS);
    return await ask(redis);
  } finally {
    redis.disconnect();
  }
}

/** Returns the one number that a query selects. */
export async function readNumber(
  databaseUrl: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<number> {
  return withDatabase(databaseUrl, async (database) => {
    const { rows } = await database.query(text, [...values]);
    return z.tuple([z.object({ value: z.coerce.number() })]).parse(rows)[0].value;
  });
}

export async function withDatabase<T>(
  databaseUrl: string,
  ask: (database: pg.Client) => Promise<T>,
): Promise<T> {
  const database = new pg.Client({ connectionString: databaseUrl });
  // A server that is stopped under us says so on the connection too.
  database.on('error', () => undefined);
  await database.connect();
  try {
    return await ask(database);
  } finally {
    await database.end();
  }
}
