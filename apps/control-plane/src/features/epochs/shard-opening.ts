import { Injectable, Logger, Optional } from '@nestjs/common';
import { Epochs, FleetStore } from '@tollgate/keyspace';
import { Host } from '../../platform/host/host.ts';

const WORDS = 3;

/**
 * Opens shards that were filled again. Until then nothing is admitted in them or withdrawn from them, so that no other request takes the tokens that
 * running requests held before the loss. When a replica ends meanwhile, the next check of another replica opens the shard.
 */
@Injectable()
export class ShardOpening {
  /** Nodes restore the holds of their running requests within 0.1 s of the announcement; the rest allows for a busy machine and a lost announcement. */
  restoreMs = 1_500;
  private readonly logger = new Logger('epochs');
  /** Maps shards by epoch to their timers: a shard may lose its data again meanwhile. */
  private readonly timers = new Map<string, () => void>();

  constructor(
    private readonly epochs: Epochs,
    private readonly fleet: FleetStore,
    @Optional() private readonly host: Host = new Host(),
  ) {}

  /** Has no effect while the opening of this shard is scheduled. */
  async openSoon(shard: string, epoch: string): Promise<void> {
    if (this.timers.has(epoch)) return;
    this.wait(shard, epoch, WORDS);
    await this.announce(shard, epoch);
  }

  stop(): void {
    for (const cancel of this.timers.values()) cancel();
    this.timers.clear();
  }

  private wait(shard: string, epoch: string, words: number): void {
    const cancel = this.host.after(this.restoreMs / WORDS, () => {
      if (words > 1) {
        this.wait(shard, epoch, words - 1);
        return void this.announce(shard, epoch);
      }
      this.timers.delete(epoch);
      // The next check finds a failure of this step, because the shard still says that it restores.
      this.epochs
        .open(shard, epoch)
        .catch((error: unknown) => this.logger.warn(error, `shard ${shard} cannot be opened yet`));
    });
    this.timers.set(epoch, cancel);
  }

  private async announce(shard: string, epoch: string): Promise<void> {
    await this.fleet
      .announce({ kind: 'shard_filled', shard, epoch })
      .catch((error: unknown) =>
        this.logger.warn(error, 'the message that a shard is filled could not be sent'),
      );
  }
}
