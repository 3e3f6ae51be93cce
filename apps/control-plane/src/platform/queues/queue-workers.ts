import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown, Inject } from '@nestjs/common';
import { USAGE_QUEUE } from '@tollgate/contracts';
import { Worker, type Processor, type WorkerOptions } from 'bullmq';
import { BULL_CONNECTION, type BullConnection } from './bull-connection.ts';

/** Every queue somebody fills; each must have a processor here, or the process does not start. */
const QUEUES = [USAGE_QUEUE] as const;
export type QueueName = (typeof QUEUES)[number];

/** All BullMQ keys share one slot of a Redis Cluster. */
export const BULL_PREFIX = '{bull}';

interface Registration {
  processor: Processor;
  options: Omit<WorkerOptions, 'connection' | 'prefix' | 'autorun'>;
}

/** The only place that opens BullMQ workers. Features register a processor in their constructor or onModuleInit; workers start once everything is wired. */
@Injectable()
export class QueueWorkers implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly registrations = new Map<QueueName, Registration>();
  private readonly logger = new Logger('queues');
  private workers: Worker[] = [];

  constructor(@Inject(BULL_CONNECTION) private readonly connection: BullConnection) {}

  register(queue: QueueName, processor: Processor, options: Registration['options']): void {
    if (this.registrations.has(queue)) throw new Error(`queue ${queue} has two processors`);
    this.registrations.set(queue, { processor, options });
  }

  onApplicationBootstrap(): void {
    const orphan = QUEUES.find((queue) => !this.registrations.has(queue));
    if (orphan) throw new Error(`queue ${orphan} has no processor`);
    this.workers = [...this.registrations].map(([queue, registration]) => this.start(queue, registration));
  }

  /** Waits for running jobs; what was not finished is taken up by another worker. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.close()));
  }

  private start(queue: QueueName, { processor, options }: Registration): Worker {
    const worker = new Worker(queue, processor, { ...options, connection: this.connection, prefix: BULL_PREFIX });
    // Without a listener a lost connection would end the process; BullMQ reconnects by itself.
    worker.on('error', (error) => this.logger.warn(error, `queue ${queue}`));
    worker.on('failed', (_job, error) => this.logger.warn(error, `a job of queue ${queue} failed`));
    return worker;
  }
}
