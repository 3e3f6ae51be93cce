import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Epochs, redisReady, shardNames, type RedisConnection } from '@tollgate/keyspace';
import { CONFIG, InvalidConfig, type Config } from '../../config.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { ShardEpochs } from './shard-epochs.sql.ts';

/** A control plane starts while Redis is away, and this check waits no longer than this. */
const READY_MS = 2_000;

/**
 * Refuses to start a new installation with a Redis that another installation filled, such as a development build or a deleted database: ids begin at
 * 1 again, so accounts could spend balances that they never bought.
 */
@Injectable()
export class ForeignRedis implements OnModuleInit {
  private readonly logger = new Logger('epochs');

  constructor(
    private readonly epochs: Epochs,
    private readonly shardEpochs: ShardEpochs,
    @Inject(REDIS) private readonly redis: RedisConnection,
    @Inject(CONFIG) private readonly config: Pick<Config, 'SHARDS'>,
  ) {}

  /** Throws `InvalidConfig` where Redis belongs to another installation. */
  async onModuleInit(): Promise<void> {
    const shards = shardNames(this.config.SHARDS);
    // Redis is read first: PostgreSQL has a shard's epoch before Redis has it, so this check does not refuse a second replica that starts now.
    const filled = await this.filledOf(shards);
    if (filled === undefined || (await this.shardEpochs.currentOf(shards)).size > 0) return;
    throw new InvalidConfig(
      `REDIS_URL: the database is empty, but Redis is filled by another installation (shard ${filled} has an epoch); nothing was changed there. Start with an empty Redis (redis-cli FLUSHALL), or with the database that belongs to it.`,
    );
  }

  /** Returns a shard that Redis serves; undefined when there is none, or Redis does not answer. */
  private async filledOf(shards: readonly string[]): Promise<string | undefined> {
    try {
      await redisReady(this.redis, READY_MS);
    } catch (error) {
      this.logger.warn(error, 'whether Redis is of this installation could not be read');
      return undefined;
    }
    const found = await Promise.allSettled(shards.map((shard) => this.epochs.read(shard)));
    return shards.find((_, index) => {
      const each = found[index];
      return each?.status === 'fulfilled' && each.value !== null;
    });
  }
}
