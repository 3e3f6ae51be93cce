import { Injectable, type OnModuleInit } from '@nestjs/common';
import { LiveRecordWriter, type Withdrawn } from '../../live-state/live-record-writer.ts';
import { UsageWorker } from './usage-worker.ts';

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
    const payload = {
      kind: 'withdraw',
      account_id: withdrawn.userId,
      subscription_id: withdrawn.subscriptionId,
      model_id: withdrawn.modelId,
      withdrawal_id: withdrawn.withdrawalId,
    };
    await this.worker.process([
      {
        shard: '',
        epoch: '',
        outboxId: '',
        rid: withdrawn.withdrawalId,
        seq: '0',
        delta: String(withdrawn.tokens),
        payload: JSON.stringify(payload),
      },
    ]);
  }
}
