import { Global, Module } from '@nestjs/common';
import { QueueBacklog } from './queue-backlog.ts';
import { QueueWorkers } from './queue-workers.ts';

@Global()
@Module({ providers: [QueueWorkers, QueueBacklog], exports: [QueueWorkers, QueueBacklog] })
export class QueuesModule {}
