import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';

/** Injection token of BullMQ's own connection. */
export const BULL_CONNECTION = Symbol('BULL_CONNECTION');
export type BullConnection = Redis;

const logger = new Logger('queues');

/** BullMQ blocks on this connection, so it must retry for ever instead of failing a command. */
export function openBullConnection(redisUrl: string): BullConnection {
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
  connection.on('error', (error) => logger.warn(error, 'the queue connection failed'));
  return connection;
}
