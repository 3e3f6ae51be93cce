import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { Epochs, shardNames } from '@tollgate/keyspace';
import { CONFIG, InvalidConfig, type Config } from '../../config.ts';
import { RedisAtStart } from '../../platform/redis/redis-at-start.ts';
import { ShardEpochs } from './shard-epochs.sql.ts';

/**
 * Refuses to start a new installation with a Redis that another installation filled, such as a development build or a deleted database: ids begin at
 * 1 again, so accounts could spend balances that they never bought.
 */
@Injectable()
export class ForeignRedis implements OnModuleInit {
  constructor(
    private readonly epochs: Epochs,
    private readonly shardEpochs: ShardEpochs,
    private readonly redis: RedisAtStart,
    @Inject(CONFIG) private readonly config: Pick<Config, 'SHARDS'>,
  ) {}

  /** Throws `InvalidConfig` where Redis belongs to another installation. */
  async onModuleInit(): Promise<void> {
    const shards = shardNames(this.config.SHARDS);
    // Redis is read first: PostgreSQL has a shard's epoch before Redis has it, so this check does not refuse a second replica that starts now.
    const filled = await this.redis.read('whether Redis is of this installation', () =>
      this.filledOf(shards),
    );
    if (filled === undefined || (await this.shardEpochs.currentOf(shards)).size > 0) return;
    throw new InvalidConfig(
      `REDIS_URL: the database is empty, but Redis is filled by another installation (shard ${filled} has an epoch); nothing was changed there. Start with an empty Redis (redis-cli FLUSHALL), or with the database that belongs to it.`,
    );
  }

  /** Returns a shard that Redis serves; undefined when there is none. */
  private async filledOf(shards: readonly string[]): Promise<string | undefined> {
    const found = await Promise.allSettled(shards.map((shard) => this.epochs.read(shard)));
    return shards.find((_, index) => {
      const each = found[index];
      return each?.status === 'fulfilled' && each.value !== null;
    });
  }
}
