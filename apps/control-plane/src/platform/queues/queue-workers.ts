import { setTimeout as sleep } from 'node:timers/promises';
import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type BeforeApplicationShutdown,
} from '@nestjs/common';
import { USAGE_QUEUE } from '@tollgate/contracts';
import { BULL_PREFIX, closeRedis, openRedis } from '@tollgate/keyspace';
import { Worker, type Processor, type WorkerOptions } from 'bullmq';
import { CONFIG, queueUrlOf, type Config } from '../../config.ts';
import { outageLog } from '../redis/outage-log.ts';
import { freeStalledCheck } from './stalled-check.ts';

/** Every queue that is filled; each must have a processor, or the process does not start. */
const QUEUES = [USAGE_QUEUE] as const;
export type QueueName = (typeof QUEUES)[number];

/** Jobs take milliseconds; longer means that Redis does not answer. */
const CLOSE_TIMEOUT_MS = 5_000;

interface Registration {
  processor: Processor;
  options: Omit<WorkerOptions, 'connection' | 'prefix' | 'autorun' | 'stalledInterval'> & {
    stalledInterval: number;
  };
}

/** The only place that opens BullMQ workers. Features register a processor in their constructor or onModuleInit; workers start once everything is wired. */
@Injectable()
export class QueueWorkers implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly registrations = new Map<QueueName, Registration>();
  private readonly logger = new Logger('queues');
  private closers: (() => Promise<void>)[] = [];

  constructor(@Inject(CONFIG) private readonly config: Config) {}

  register(queue: QueueName, processor: Processor, options: Registration['options']): void {
    if (this.registrations.has(queue)) throw new Error(`queue ${queue} has two processors`);
    this.registrations.set(queue, { processor, options });
  }

  onApplicationBootstrap(): void {
    const orphan = QUEUES.find((queue) => !this.registrations.has(queue));
    if (orphan) throw new Error(`queue ${orphan} has no processor`);
    this.closers = [...this.registrations].map(([queue, registration]) =>
      this.start(queue, registration),
    );
  }

  /** Before the database closes: waits for running jobs; what was not finished is taken up by another worker. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.closers.map((close) => close()));
  }

  /** A worker blocks on its connection, so each has its own. */
  private start(queue: QueueName, { processor, options }: Registration): () => Promise<void> {
    const onError = outageLog(this.logger, `the connection of queue ${queue}`);
    const connection = openRedis(queueUrlOf(this.config), {
      role: 'queue_worker',
      name: `tollgate-worker-${queue}`,
      onError,
    });
    const worker = new Worker(queue, processor, { ...options, connection, prefix: BULL_PREFIX });
    // Without a listener a lost connection would end the process; BullMQ reconnects by itself.
    worker.on('error', onError);
    worker.on('failed', (_job, error) => this.logger.warn(error, `a job of queue ${queue} failed`));
    const stalledCheck = setInterval(() => {
      if (connection.status === 'ready')
        freeStalledCheck(worker, { connection, intervalMs: options.stalledInterval }).catch(
          onError,
        );
    }, options.stalledInterval).unref();
    return async () => {
      clearInterval(stalledCheck);
      // While Redis is away a worker cannot say goodbye; its jobs are idempotent and are taken up by another.
      await Promise.race([worker.close(), sleep(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);
      worker.disconnect().catch(onError);
      closeRedis(connection);
    };
  }
}
