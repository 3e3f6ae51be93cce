import { Injectable } from '@nestjs/common';
import type { RelayedEvent } from '@tollgate/contracts';
import type { ReapedRequests } from '@tollgate/keyspace';
import { LiveRebuildService } from '../live-state/live-rebuild.service.ts';

/** Epoch of what was written before the shard was filled: never the one that it has. */
const FORGOTTEN_EPOCH = 'forgotten';

/** Books usage of an epoch that is gone. */
type Booking = (events: readonly RelayedEvent[]) => Promise<void>;

/** Writes everything Redis must know of a shard, in order. What a rebuild does beyond live records is added here. */
@Injectable()
export class ShardFiller {
  private book: Booking = () => Promise.resolve();

  constructor(
    private readonly records: LiveRebuildService,
    private readonly reaped: Pick<ReapedRequests, 'unbooked'>,
  ) {}

  listen(book: Booking): void {
    this.book = book;
  }

  /** Removes what Redis has of the shard from before it was lost. */
  async forget(shard: string): Promise<void> {
    await this.records.forgetAll(shard, await this.bookReaps(shard));
  }

  async fill(shard: string): Promise<void> {
    await this.bookReaps(shard);
    await this.records.rewriteAll(shard);
  }

  /** Books what reaps charged, before balances without it are written: their nodes are gone, so no other process sends it again. Answers their requests. */
  private async bookReaps(shard: string): Promise<ReadonlySet<string>> {
    const reaped = await this.reaped.unbooked(shard);
    if (reaped.length > 0)
      await this.book(
        reaped.map((event) => ({
          ...event,
          seq: '0',
          shard,
          epoch: FORGOTTEN_EPOCH,
          outboxId: '',
        })),
      );
    return new Set(reaped.map(({ rid }) => rid));
  }
}
