import { deleteOverlong, type RedisConnection } from '@tollgate/keyspace';
import type { Worker } from 'bullmq';

/**
 * BullMQ looks for jobs whose worker died once an interval, which a key that expires keeps. When Redis' clock was ahead and is set right,
 * that key outlives its time by as much, and no worker looks meanwhile: it is removed when it has longer to live than it was given.
 * True when it was in the way.
 */
export function freeStalledCheck(
  worker: Pick<Worker, 'toKey'>,
  { connection, intervalMs }: { connection: RedisConnection; intervalMs: number },
): Promise<boolean> {
  return deleteOverlong(connection, worker.toKey('stalled-check'), intervalMs);
}
