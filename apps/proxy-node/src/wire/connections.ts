import {
  openRedis,
  redisReady,
  type ConnectionRole,
  type RedisConnection,
} from '@tollgate/keyspace';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';

const REDIS_WAIT_MS = 2_000;

/** Holds one connection for each way in which a node uses Redis, so that a blocking read or a subscription delays nothing else. */
export type Connections = Record<
  'hot' | 'plain' | 'blocking' | 'subscriber' | 'queue',
  RedisConnection
>;

/** Waits for Redis for a limited time: a node also starts without it, and serves as soon as Redis returns. */
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
    // BullMQ's keys belong to another user.
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
