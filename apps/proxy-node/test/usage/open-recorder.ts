import { pino, type Logger } from 'pino';
import type { OutboxPort } from '../../src/usage/relay-options.ts';
import { openUsageQueue, type UsageQueue } from '../../src/usage/usage-queue.ts';
import type { RecorderOptions } from '../../src/usage/recorder-options.ts';
import { RequestRecorder } from '../../src/usage/request-recorder.ts';
import { SHARDS, type MeteredRedis } from './metered-redis.ts';
import { redisReady } from '@tollgate/keyspace';

export const silent: Logger = pino({ level: process.env.TEST_LOG_LEVEL ?? 'silent' });

/** Opens the recorder of a node, wired as `wire.ts` wires it. */
export async function openRecorder(
  world: MeteredRedis,
  options: Pick<RecorderOptions, 'dataDir'> & Partial<RecorderOptions>,
): Promise<RequestRecorder> {
  const connection = world.connect('plain');
  await redisReady(connection, 5_000);
  const queue: UsageQueue = openUsageQueue(connection, silent);
  return RequestRecorder.open({
    node: 'node-1',
    worker: 0,
    shards: SHARDS,
    leaseMs: 60_000,
    metering: world.store satisfies OutboxPort,
    redis: world.redis,
    acknowledgements: world.acknowledgements,
    blocking: world.connect('blocking'),
    queue,
    peers: () => Promise.resolve([]),
    log: silent,
    ...options,
  });
}
