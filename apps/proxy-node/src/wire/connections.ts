import {
  openRedis,
  redisReady,
  type ConnectionRole,
  type RedisConnection,
} from '@tollgate/keyspace';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';

const REDIS_WAIT_MS = 2_000;

/** One for each way in which a node uses Redis: a blocking read or a subscription holds up nothing else. */
export type Connections = Record<
  'hot' | 'plain' | 'blocking' | 'subscriber' | 'queue',
  RedisConnection
>;

/** Waits for Redis within bounds: without it a node starts too, and serves from what it has as soon as Redis returns. */
export async function openConnections(config: Config, log: Logger): Promise<Connections> {
  const open = (role: ConnectionRole, url = config.REDIS_URL): RedisConnection =>
    openRedis(url, {
      role,
      name: `${config.NODE_NAME}:${config.NODE_WORKER}:${role}`,
      onError: (error) => log.warn({ err: error, role }, 'Redis connection error'),
    });
  const connections = {
    hot: open('hot'),
    plain: open('plain'),
    blocking: open('blocking'),
    subscriber: open('subscriber'),
    // BullMQ's keys are another user's.
    queue: open('plain', config.REDIS_QUEUE_URL),
  };
  await Promise.all(
    [connections.hot, connections.plain].map((connection) =>
      redisReady(connection, REDIS_WAIT_MS).catch(() =>
        log.warn({ wait_ms: REDIS_WAIT_MS }, 'Redis does not answer yet; starting without it'),
      ),
    ),
  );
  return connections;
}
