import { USAGE_QUEUE, type UsageJob } from '@tollgate/contracts';
import { BULL_PREFIX, type RedisConnection } from '@tollgate/keyspace';
import { Queue, type JobsOptions } from 'bullmq';
import type { Logger } from 'pino';

/** A usage job is never given up: neither a second worker crash nor a long outage of PostgreSQL may fail it. */
const JOB_OPTIONS: JobsOptions = {
  attempts: 1_000_000,
  // The backoff is fixed, because BullMQ's exponential one has no upper bound and would wait for days.
  backoff: { type: 'fixed', delay: 5_000, jitter: 0.5 },
  removeOnComplete: { age: 600, count: 1_000 },
  removeOnFail: false,
};

export interface UsageQueue {
  add(job: UsageJob): Promise<void>;
  close(): Promise<void>;
}

/** `connection` must fail at once while Redis is away (`enableOfflineQueue: false`); events wait in the outbox. */
export function openUsageQueue(connection: RedisConnection, log: Pick<Logger, 'warn'>): UsageQueue {
  const open = (): Queue<UsageJob> => {
    const opened = new Queue<UsageJob>(USAGE_QUEUE, {
      connection,
      prefix: BULL_PREFIX,
      defaultJobOptions: JOB_OPTIONS,
    });
    opened.on('error', (error) => log.warn({ err: error }, 'usage queue connection error'));
    return opened;
  };
  let queue = open();
  return {
    add: async (job) => {
      const used = queue;
      try {
        await used.waitUntilReady();
      } catch (error) {
        // BullMQ asks Redis for its version once, and never forgets that this failed: no job would be taken again.
        if (queue === used) queue = open();
        used.close().catch(() => undefined);
        throw error;
      }
      await used.add('batch', job);
    },
    close: () => queue.close(),
  };
}
