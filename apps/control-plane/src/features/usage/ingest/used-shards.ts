import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { shardNames, shardOf } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { CONFIG, type Config } from '../../../config.ts';
import { otherShards, ShardCount } from '../../epochs/shard-count.sql.ts';
import { ShardEpochs } from '../../epochs/shard-epochs.sql.ts';

const usageRow = z.object({ user_id: z.number(), shard: z.string() });

/**
 * Has SHARDS stored at the first start, and refuses a higher one than that of an installation whose earlier release stored none. Then some of its shards
 * were never filled, as after a first start that was interrupted; what distinguishes the two is usage of the last seven days that came from another
 * shard than its account has here.
 */
@Injectable()
export class UsedShards implements OnModuleInit {
  constructor(
    private readonly dataSource: DataSource,
    private readonly epochs: ShardEpochs,
    private readonly count: ShardCount,
    @Inject(CONFIG) private readonly config: Pick<Config, 'SHARDS'>,
  ) {}

  /** Throws `InvalidConfig`. */
  async onModuleInit(): Promise<void> {
    if (await this.count.isStored()) return;
    await this.refuseOthers();
    await this.count.store();
  }

  private async refuseOthers(): Promise<void> {
    const { SHARDS } = this.config;
    const { size } = await this.epochs.currentOf(shardNames(SHARDS));
    if (size === 0 || size === SHARDS) return;
    const rows: unknown[] = await this.dataSource.query(
      'SELECT DISTINCT user_id, shard FROM usage_events WHERE shard IS NOT NULL AND day >= current_date - 7',
    );
    const isOther = rows
      .map((row) => usageRow.parse(row))
      .some(({ user_id, shard }) => shardOf(user_id, SHARDS) !== shard);
    if (isOther) throw otherShards(SHARDS, size);
  }
}
