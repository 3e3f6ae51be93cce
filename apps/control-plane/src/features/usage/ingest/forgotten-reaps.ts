import { Injectable, type OnModuleInit } from '@nestjs/common';
import { ShardFiller } from '../../epochs/shard-filler.ts';
import { UsageWorker } from './usage-worker.ts';

/** Books what reaps charged in a shard whose data is about to be forgotten. */
@Injectable()
export class ForgottenReaps implements OnModuleInit {
  constructor(
    private readonly filler: ShardFiller,
    private readonly worker: UsageWorker,
  ) {}

  onModuleInit(): void {
    this.filler.listen((events) => this.worker.process(events));
  }
}
