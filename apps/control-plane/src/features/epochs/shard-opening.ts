import { Injectable, Logger, Optional } from '@nestjs/common';
import { Epochs, FleetStore } from '@tollgate/keyspace';
import { Host } from '../../platform/host/host.ts';

const WORDS = 3;

/**
 * Opens shards that were filled again. Until then nothing is admitted in them or withdrawn from them, so that tokens which running requests held
 * before the loss go to no other. A replica that ends meanwhile leaves the shard to the next look of another.
 */
@Injectable()
export class ShardOpening {
  /** Nodes take the holds of their running requests again within a tenth of a second of the word; the rest is for a busy machine and a lost word. */
  restoreMs = 1_500;
  private readonly logger = new Logger('epochs');
  /** The shards by epoch: a shard may lose its data again meanwhile. */
  private readonly timers = new Map<string, () => void>();

  constructor(
    private readonly epochs: Epochs,
    private readonly fleet: FleetStore,
    @Optional() private readonly host: Host = new Host(),
  ) {}

  /** Harmless while it is in progress. */
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
      // The next look sees a failure of this step: the shard still says that it restores.
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
