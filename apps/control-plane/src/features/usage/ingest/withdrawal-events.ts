import { Injectable, type OnModuleInit } from '@nestjs/common';
import { LiveRecordWriter, type Withdrawn } from '../../live-state/live-record-writer.ts';
import { UsageWorker } from './usage-worker.ts';
import { withdrawalEvent } from './withdrawal-event.ts';

/** Books withdrawals as soon as Redis has made them. */
@Injectable()
export class WithdrawalEvents implements OnModuleInit {
  constructor(
    private readonly liveRecords: LiveRecordWriter,
    private readonly worker: UsageWorker,
  ) {}

  onModuleInit(): void {
    this.liveRecords.listen({ withdrawn: (withdrawn) => this.book(withdrawn) });
  }

  /** The same event also comes through the shard's outbox; whichever is first books it. */
  private async book(withdrawn: Withdrawn): Promise<void> {
    await this.worker.process([withdrawalEvent(withdrawn)]);
  }
}
