import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { CONFIG, InvalidConfig, type Config } from '../../config.ts';

const countRow = z.object({ shards: z.number() });

/**
 * Refuses to start with another SHARDS than the installation's, before anything else is written, because accounts would be searched in other shards.
 * The first start stores the number.
 */
@Injectable()
export class ShardCount implements OnModuleInit {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(CONFIG) private readonly config: Pick<Config, 'SHARDS'>,
  ) {}

  /** Stores the number of shards once; throws `InvalidConfig` where another number is stored. */
  async onModuleInit(): Promise<void> {
    await this.dataSource.query(
      'INSERT INTO shard_counts (shards) VALUES ($1) ON CONFLICT DO NOTHING',
      [this.config.SHARDS],
    );
    await this.refuseOther();
  }

  /** Throws `InvalidConfig` when another number is stored. */
  async refuseOther(): Promise<void> {
    const rows: unknown[] = await this.dataSource.query('SELECT shards FROM shard_counts');
    const [known] = rows.map((row) => countRow.parse(row).shards);
    if (known !== undefined && known !== this.config.SHARDS)
      throw new InvalidConfig(
        `SHARDS: is ${this.config.SHARDS}, but this installation has ${known} shards; the number is fixed for its life. Set SHARDS=${known} and start again.`,
      );
  }
}
