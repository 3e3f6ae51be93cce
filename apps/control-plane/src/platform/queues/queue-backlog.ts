import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import {
  BULL_PREFIX,
  closeRedis,
  openRedis,
  redisReady,
  type RedisConnection,
} from '@tollgate/keyspace';
import { Queue, type JobType } from 'bullmq';
import { CONFIG, queueUrlOf, type Config } from '../../config.ts';
import { outageLog } from '../redis/outage-log.ts';
import type { QueueName } from './queue-name.ts';

/** An unfinished job is in one of these states. */
const UNDONE: JobType[] = ['wait', 'active', 'delayed', 'prioritized', 'failed'];

const TRIED: JobType[] = UNDONE.filter((state) => state !== 'failed');
const TRIED_STATES: ReadonlySet<string> = new Set(['waiting', 'active', 'delayed', 'prioritized']);
/** The search for the oldest job reads this many ids from the old end of each list. */
const HEADS_MAX = 1_000;
const CONNECT_TIMEOUT_MS = 5_000;

interface OpenQueue {
  queue: Queue;
  connection: RedisConnection;
  ready: Promise<unknown>;
}

/** Reports when a queue has finished all jobs that it had at a given moment. It compares job ids, so that no clock is trusted. */
@Injectable()
export class QueueBacklog implements OnApplicationShutdown {
  private readonly logger = new Logger('queues');
  private readonly opened = new Map<QueueName, OpenQueue>();
  /** Holds the oldest job of each queue at the last check. */
  private readonly oldest = new Map<QueueName, string>();

  constructor(
    @Inject(CONFIG) private readonly config: Pick<Config, 'REDIS_URL' | 'REDIS_QUEUE_URL'>,
  ) {}

  onApplicationShutdown(): void {
    for (const name of [...this.opened.keys()]) this.close(name);
  }

  /** Returns the ids of waiting, running, delayed and failed jobs. One step reads them, so that a job that moves between two lists is seen in one of them. */
  undone(name: QueueName): Promise<ReadonlySet<string>> {
    return this.ask(name, async (queue) => new Set(await queue.getRanges(UNDONE, 0, -1)));
  }

  /** Returns false while one of these jobs is unfinished. */
  async areDone(name: QueueName, jobs: ReadonlySet<string>): Promise<boolean> {
    if (jobs.size === 0) return true;
    const undone = await this.undone(name);
    return [...jobs].every((job) => !undone.has(job));
  }

  /** Returns the number of jobs that a worker could take now. */
  waiting(name: QueueName): Promise<number> {
    return this.ask(name, (queue) => queue.getWaitingCount());
  }

  /**
   * Returns the number of jobs by state and the time (Unix ms) at which the oldest unfinished job was added, including retried and repeated ones.
   * Failed jobs are dead letters. Delayed jobs are sorted by due time, so in a long list of them the oldest is the one known from the last check,
   * until it is finished.
   */
  standing(
    name: QueueName,
  ): Promise<{ counts: Readonly<Record<string, number>>; oldestAtMs: number | null }> {
    return this.ask(name, async (queue) => {
      const counts = await queue.getJobCounts(...UNDONE);
      const ids = await queue.getRanges(TRIED, 0, HEADS_MAX - 1, true);
      const known = this.oldest.get(name);
      if (known !== undefined && TRIED_STATES.has(await queue.getJobState(known))) ids.push(known);
      // Ids count up, so the lowest id is the oldest job in any list.
      const [first] = ids.toSorted((a, b) => Number(a) - Number(b));
      if (first === undefined) this.oldest.delete(name);
      else this.oldest.set(name, first);
      const oldest = first === undefined ? undefined : await queue.getJob(first);
      return { counts, oldestAtMs: oldest?.timestamp ?? null };
    });
  }

  private async ask<T>(name: QueueName, question: (queue: Queue) => Promise<T>): Promise<T> {
    const { queue, ready } = this.open(name);
    try {
      await ready;
      return await question(queue);
    } catch (error) {
      // BullMQ never forgets that a connection was not ready at first, so the next check opens another.
      this.close(name);
      throw error;
    }
  }

  private open(name: QueueName): OpenQueue {
    const known = this.opened.get(name);
    if (known) return known;
    const onError = outageLog(this.logger, `the connection to the jobs of queue ${name}`);
    const connection = openRedis(queueUrlOf(this.config), {
      role: 'plain',
      name: `tollgate-backlog-${name}`,
      onError,
    });
    const queue = new Queue(name, { connection, prefix: BULL_PREFIX });
    queue.on('error', onError);
    // BullMQ writes as soon as it is ready, which connects it to one primary of a Cluster; a query before that would go to another. BullMQ waits as
    // long as Redis is away, and a waiting query keeps the process from ending.
    const ready = Promise.race([queue.waitUntilReady(), connectTimeout(name)]).then(() =>
      redisReady(connection, CONNECT_TIMEOUT_MS),
    );
    const opened = { queue, connection, ready };
    this.opened.set(name, opened);
    return opened;
  }

  private close(name: QueueName): void {
    const { queue, connection } = this.opened.get(name) ?? {};
    this.opened.delete(name);
    queue?.close().catch(() => undefined);
    if (connection) closeRedis(connection);
  }
}

async function connectTimeout(name: QueueName): Promise<never> {
  await sleep(CONNECT_TIMEOUT_MS, undefined, { ref: false });
  throw new Error(`the jobs of queue ${name} cannot be read: Redis does not answer`);
}
