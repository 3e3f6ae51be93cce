import { Injectable } from '@nestjs/common';
import { LiveRebuildService } from '../live-state/live-rebuild.service.ts';

/** Writes everything Redis must know of a shard, in order. What a rebuild does beyond live records is added here. */
@Injectable()
export class ShardFiller {
  constructor(private readonly records: LiveRebuildService) {}

  /** Removes what Redis has of the shard from before it was lost. */
  async forget(shard: string): Promise<void> {
    await this.records.forgetAll(shard);
  }

  async fill(shard: string): Promise<void> {
    await this.records.rewriteAll(shard);
  }
}
