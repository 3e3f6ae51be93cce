import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { shardNames, shardOf } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { CONFIG, InvalidConfig, type Config } from '../../config.ts';

const epochRow = z.object({ shard: z.string() });
const usageRow = z.object({ user_id: z.number(), shard: z.string() });

/**
 * Refuses to start with another SHARDS than the installation's, before anything is written: accounts would be looked for in other shards. Rests on
 * `shard_epochs`, which has a row of every shard that was ever filled, and, where shards are missing there (a first start that was interrupted has the same rows),
 * on the shards from which usage of the last days came.
 */
@Injectable()
export class ShardCount implements OnModuleInit {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(CONFIG) private readonly config: Pick<Config, 'SHARDS'>,
  ) {}

  /** Throws `InvalidConfig`. */
  async onModuleInit(): Promise<void> {
    const found: unknown[] = await this.dataSource.query('SELECT shard FROM shard_epochs');
    const known = found.map((row) => epochRow.parse(row).shard);
    const own = new Set(shardNames(this.config.SHARDS));
    const isOther =
      known.some((shard) => !own.has(shard)) ||
      (known.length > 0 && known.length < own.size && (await this.isUsedElsewhere()));
    if (!isOther) return;
    throw new InvalidConfig(
      `SHARDS: is ${this.config.SHARDS}, but this installation has ${known.length} shards; the number is fixed for its life`,
    );
  }

  private async isUsedElsewhere(): Promise<boolean> {
    const rows: unknown[] = await this.dataSource.query(
      'SELECT DISTINCT user_id, shard FROM usage_events WHERE shard IS NOT NULL AND day >= current_date - 7',
    );
    return rows
      .map((row) => usageRow.parse(row))
      .some(({ user_id, shard }) => shardOf(user_id, this.config.SHARDS) !== shard);
  }
}
