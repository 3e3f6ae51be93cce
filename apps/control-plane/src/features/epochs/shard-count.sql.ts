import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { shardNames } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { CONFIG, InvalidConfig, type Config } from '../../config.ts';

const countRow = z.object({ shards: z.number() });

/**
 * Refuses to start with another SHARDS than the installation's, before anything is written: accounts would be looked for in other shards. The number
 * is stored at the first start. An installation of an earlier release has none: there `shard_epochs`, which has a row of every shard that was ever
 * filled, contradicts a lower number, and `UsedShards` looks for what contradicts a higher one before it has the number stored.
 */
@Injectable()
export class ShardCount implements OnModuleInit {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(CONFIG) private readonly config: Pick<Config, 'SHARDS'>,
  ) {}

  /** Throws `InvalidConfig`. */
  async onModuleInit(): Promise<void> {
    await this.isStored();
    const [row]: { known: string; beyond: string }[] = await this.dataSource.query(
      'SELECT count(*) AS known, count(*) FILTER (WHERE shard <> ALL($1)) AS beyond FROM shard_epochs',
      [shardNames(this.config.SHARDS)],
    );
    if (row && row.beyond !== '0') throw otherShards(this.config.SHARDS, Number(row.known));
  }

  /** False before the first start. Throws `InvalidConfig` where another number is stored. */
  async isStored(): Promise<boolean> {
    const rows: unknown[] = await this.dataSource.query('SELECT shards FROM shard_counts');
    const [stored] = rows.map((row) => countRow.parse(row).shards);
    if (stored !== undefined && stored !== this.config.SHARDS)
      throw otherShards(this.config.SHARDS, stored);
    return stored !== undefined;
  }

  /** From now on no other number starts. Throws `InvalidConfig` where another process has stored another one meanwhile. */
  async store(): Promise<void> {
    await this.dataSource.query(
      'INSERT INTO shard_counts (shards) VALUES ($1) ON CONFLICT DO NOTHING',
      [this.config.SHARDS],
    );
    await this.isStored();
  }
}

export function otherShards(found: number, known: number): InvalidConfig {
  return new InvalidConfig(
    `SHARDS: is ${found}, but this installation has ${known} shards; the number is fixed for its life. Set SHARDS=${known} and start again.`,
  );
}
