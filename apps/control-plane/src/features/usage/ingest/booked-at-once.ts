import { Inject, Injectable } from '@nestjs/common';
import { DomainEvents } from '../../../platform/domain-events/domain-events.ts';
import { ShardForgotten } from '../../epochs/shard-filler.ts';
import { TokensWithdrawn } from '../../live-state/live-facts.ts';
import { UsageWorker } from './usage-worker.ts';
import { withdrawalEvent } from './withdrawal-event.ts';

/** Books events of other features without waiting for the relay: withdrawals, and the usage of shards that are emptied. */
@Injectable()
export class BookedAtOnce {
  constructor(@Inject(UsageWorker) worker: Pick<UsageWorker, 'process'>, events: DomainEvents) {
    // The same event also comes through the shard's outbox; the first one is booked.
    events.on(TokensWithdrawn, async ({ withdrawn }) => {
      await worker.process([withdrawalEvent(withdrawn)]);
    });
    events.on(ShardForgotten, async ({ usage }) => {
      await worker.process(usage);
    });
  }
}
