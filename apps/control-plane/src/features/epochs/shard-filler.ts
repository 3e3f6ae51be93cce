import { Injectable } from '@nestjs/common';
import type { RelayedEvent } from '@tollgate/contracts';
import type { OutboxEvent, ReapedRequests } from '@tollgate/keyspace';
import { DomainEvents } from '../../platform/domain-events/domain-events.ts';
import { LiveRebuildService } from '../live-state/live-rebuild.service.ts';

/** Epoch of what was written before the shard was filled: never the one that it has. */
const FORGOTTEN_EPOCH = 'forgotten';

/** A shard is about to be forgotten with this usage, which is of an epoch that is gone. It is booked before the publication ends. */
export class ShardForgotten {
  constructor(readonly usage: readonly RelayedEvent[]) {}
}

/** Writes everything Redis must know of a shard, in order. What a rebuild does beyond live records is added here. */
@Injectable()
export class ShardFiller {
  constructor(
    private readonly records: LiveRebuildService,
    private readonly reaped: Pick<ReapedRequests, 'unbooked' | 'unrelayed'>,
    private readonly events: DomainEvents,
  ) {}

  /**
   * Removes what Redis has of the shard from an epoch that is gone. What it charged there is booked before, so that the balances which are written next have it:
   * the nodes of reaped requests are gone, and an event that stayed in the outbox would be relayed as one of the new epoch.
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
