import { openRedis, redisReady, type RedisConnection } from '@tollgate/keyspace';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { configSchema } from '../config.ts';
import { databaseUrlOf, type DatabaseRole } from './database-settings.ts';
import { DEAD_LETTER_ENTITIES } from '../features/usage/dead-letters/offline-dead-letters.ts';
import { User } from '../features/users/user.entity.ts';
import { dataSourceOptions } from '../platform/database/data-source-options.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const { REDIS_URL } = configSchema.shape;
/** Booking a dead letter holds a lock of its own and one of the comparison, and works beside them. */
const CONNECTIONS = 4;
/** Is shown by pg_stat_activity. */
const NAME = 'tollgate-ops';

/** Works on the database as `role`. `migrations` names those that it may run; all unless given. */
export async function withDatabase<T>(
  work: (dataSource: DataSource) => Promise<T>,
  { role = 'runtime', migrations }: { role?: DatabaseRole; migrations?: readonly string[] } = {},
): Promise<T> {
  const options = dataSourceOptions({
    DATABASE_URL: databaseUrlOf(role),
    DATABASE_POOL_MAX: CONNECTIONS,
  });
  const dataSource = await new DataSource({
    ...options,
    applicationName: NAME,
    migrations: options.migrations.filter(({ name }) => migrations?.includes(name) ?? true),
    entities: [User, ...DEAD_LETTER_ENTITIES],
  }).initialize();
  try {
    return await work(dataSource);
  } finally {
    await dataSource.destroy();
  }
}

/** Works on one connection without time limits of its own, for what streams whole tables. */
export async function withSession<T>(
  role: DatabaseRole,
  work: (session: pg.Client) => Promise<T>,
): Promise<T> {
  const session = new pg.Client({ connectionString: databaseUrlOf(role), application_name: NAME });
  await session.connect();
  try {
    return await work(session);
  } finally {
    await session.end();
  }
}

export function isRedisNamed(): boolean {
  return (process.env.REDIS_URL ?? '') !== '';
}

export async function withRedis<T>(work: (redis: RedisConnection) => Promise<T>): Promise<T> {
  const parsed = REDIS_URL.safeParse(process.env.REDIS_URL);
  if (!parsed.success) throw new Error('REDIS_URL is not set, or is not a valid address.');
  const redis = openRedis(parsed.data, { role: 'plain', name: NAME, onError: () => undefined });
  try {
    await redisReady(redis, CONNECT_TIMEOUT_MS);
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}
