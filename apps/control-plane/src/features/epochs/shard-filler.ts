import { Injectable } from '@nestjs/common';
import type { RelayedEvent } from '@tollgate/contracts';
import type { OutboxEvent, ReapedRequests } from '@tollgate/keyspace';
import { DomainEvents } from '../../platform/domain-events/domain-events.ts';
import { LiveRebuildService } from '../live-state/live-rebuild.service.ts';

/** Is the epoch of records from before the shard was filled; it never equals a real epoch. */
const FORGOTTEN_EPOCH = 'forgotten';

/** Is published before a shard is emptied. It carries usage of an epoch that has ended, which is booked before the publication ends. */
export class ShardForgotten {
  constructor(readonly usage: readonly RelayedEvent[]) {}
}

/** Writes everything that Redis must know of a shard, in order. Further steps of a rebuild are added here. */
@Injectable()
export class ShardFiller {
  constructor(
    private readonly records: LiveRebuildService,
    private readonly reaped: Pick<ReapedRequests, 'unbooked' | 'unrelayed'>,
    private readonly events: DomainEvents,
  ) {}

  /**
   * Removes the shard's data of an epoch that has ended. Charges that were made there are booked first, so that the balances that are written next
   * include them: the nodes of reaped requests are gone, and an event that stayed in the outbox would be relayed as one of the new epoch.
   */
  async forget(shard: string): Promise<void> {
    const reaped = await this.reaped.unbooked(shard);
    await this.bookForgotten(
      shard,
      reaped.map((event) => ({ ...event, seq: '0' })),
    );
    for await (const events of this.reaped.unrelayed(shard))
      await this.bookForgotten(shard, events);
    await this.records.forgetAll(shard, new Set(reaped.map(({ rid }) => rid)));
  }

  async fill(shard: string): Promise<void> {
    await this.records.rewriteAll(shard);
  }

  private async bookForgotten(shard: string, events: readonly OutboxEvent[]): Promise<void> {
    if (events.length === 0) return;
    const gone = { shard, epoch: FORGOTTEN_EPOCH, outboxId: '' };
    await this.events.publish(new ShardForgotten(events.map((event) => ({ ...event, ...gone }))));
  }
}
