import { setTimeout as sleep } from 'node:timers/promises';
import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type BeforeApplicationShutdown,
} from '@nestjs/common';
import { BULL_PREFIX, closeRedis, openRedis } from '@tollgate/keyspace';
import { Worker, type Job, type WorkerOptions } from 'bullmq';
import { CONFIG, queueUrlOf, type Config } from '../../config.ts';
import { Metrics } from '../metrics/metrics.ts';
import { outageLog } from '../redis/outage-log.ts';
import { QueueBacklog } from './queue-backlog.ts';
import { QUEUES, type QueueName } from './queue-name.ts';
import { freeStalledCheck } from './stalled-check.ts';
import { StandstillWatch } from './standstill-watch.ts';

/** A job takes milliseconds; a longer wait means that Redis does not answer. */
const CLOSE_TIMEOUT_MS = 5_000;
/** BullMQ's default of 15 s would lengthen each outage of a Cluster. */
const RETRY_MS = 1_000;

interface Registration {
  processor: (job: Job) => Promise<void>;
  options: Omit<WorkerOptions, 'connection' | 'prefix' | 'autorun' | 'stalledInterval'> & {
    stalledInterval: number;
    concurrency: number;
  };
}

type Close = () => Promise<void>;

/** Opens all BullMQ workers. Features register a processor in their constructor or in onModuleInit; the workers start after all features are wired. */
@Injectable()
export class QueueWorkers implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly registrations = new Map<QueueName, Registration>();
  private readonly logger = new Logger('queues');
  private readonly closers = new Map<QueueName, Close>();
  private readonly replaced = this.metrics.counter({
    name: 'tollgate_queue_workers_replaced_total',
    help: 'Workers of a queue that took no jobs while some waited, and were replaced.',
    labelNames: ['queue'],
  });

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly backlog: QueueBacklog,
    private readonly metrics: Metrics,
  ) {}

  register(
    queue: QueueName,
    processor: Registration['processor'],
    options: Registration['options'],
  ): void {
    if (this.registrations.has(queue)) throw new Error(`queue ${queue} has two processors`);
    this.registrations.set(queue, { processor, options });
  }

  /** Runs `act` after the processor has received the jobs of one reply of Redis. */
  afterReply(act: () => void): void {
    setImmediate(act);
  }

  onApplicationBootstrap(): void {
    const orphan = QUEUES.find((queue) => !this.registrations.has(queue));
    if (orphan) throw new Error(`queue ${orphan} has no processor`);
    for (const [queue, registration] of this.registrations) {
      this.replaced.inc({ queue }, 0);
      this.closers.set(queue, this.start(queue, registration));
    }
  }

  /** Waits for running jobs before the database closes. Another worker takes the unfinished ones. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.closers.values()].map((close) => close()));
  }

  /** Each worker has its own connection, because it blocks on it. */
  private start(queue: QueueName, registration: Registration): Close {
    const { processor, options } = registration;
    const onError = outageLog(this.logger, `the connection of queue ${queue}`);
    const connection = openRedis(queueUrlOf(this.config), {
      role: 'queue_worker',
      name: `tollgate-worker-${queue}`,
      onError,
    });
    const watch = new StandstillWatch({
      concurrency: options.concurrency,
      waiting: () => this.backlog.waiting(queue),
      onStandstill: (waiting) => this.replace(queue, registration, waiting),
    });
    const worker = new Worker(queue, watch.watched(processor), {
      runRetryDelay: RETRY_MS,
      ...options,
      connection,
      prefix: BULL_PREFIX,
    });
    // The listener keeps a lost connection from ending the process; BullMQ reconnects itself.
    worker.on('error', onError);
    worker.on('failed', (_job, error) => this.logger.warn(error, `a job of queue ${queue} failed`));
    const stalledCheck = setInterval(() => {
      if (connection.status === 'ready')
        freeStalledCheck(worker, { connection, intervalMs: options.stalledInterval }).catch(
          onError,
        );
    }, options.stalledInterval).unref();
    return async () => {
      watch.end();
      clearInterval(stalledCheck);
      // While Redis is away a job cannot be finished. Jobs are idempotent, and another worker takes them.
      await Promise.race([
        worker.pause().catch(onError),
        sleep(CLOSE_TIMEOUT_MS, undefined, { ref: false }),
      ]);
      // A worker that closes without force renews the locks of unfinished jobs until Redis answers, and its timer keeps the process alive.
      await worker.close(true);
      closeRedis(connection);
    };
  }

  /**
   * BullMQ waits without a limit for each answer of Redis, so a worker stops when the client loses one answer. The replacement takes waiting jobs
   * within 35 s, and a job that was assigned in the lost answer within 75 s, because its lock lasts 30 s. ioredis loses no answer in any known way
   * (open-redis.ts of the keyspace).
   */
  private replace(queue: QueueName, registration: Registration, waiting: number): void {
    this.logger.error(
      { queue, waiting },
      'a worker took no jobs while some waited; it is replaced',
    );
    this.replaced.inc({ queue });
    const close = this.closers.get(queue);
    this.closers.set(queue, this.start(queue, registration));
    close?.().catch((error: unknown) => this.logger.warn(error, 'a worker could not be closed'));
  }
}
