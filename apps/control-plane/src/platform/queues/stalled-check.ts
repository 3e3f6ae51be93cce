import { deleteOverlong, type RedisConnection } from '@tollgate/keyspace';
import type { Worker } from 'bullmq';

/**
 * Removes BullMQ's key of the stalled-job check when it lives longer than its interval; returns true when it did. BullMQ looks for jobs whose worker
 * died once per interval and marks the interval by an expiring key. After Redis' clock was ahead and is corrected, the key outlives its interval by
 * the difference, and no worker checks meanwhile.
 */
export function freeStalledCheck(
  worker: Pick<Worker, 'toKey'>,
  { connection, intervalMs }: { connection: RedisConnection; intervalMs: number },
): Promise<boolean> {
  return deleteOverlong(connection, worker.toKey('stalled-check'), intervalMs);
}
