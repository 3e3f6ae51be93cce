import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { shardNames } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { CONFIG, InvalidConfig, type Config } from '../../config.ts';

/**
 * Refuses to start with a lower SHARDS than the installation's, before anything is written: accounts would be looked for in other shards. Rests on
 * `shard_epochs`, which has a row of every shard that was ever filled. A higher number is for `UsedShards` to find.
 */
@Injectable()
export class ShardCount implements OnModuleInit {
  constructor(
    private readonly dataSource: DataSource,
    @Inject(CONFIG) private readonly config: Pick<Config, 'SHARDS'>,
  ) {}

  /** Throws `InvalidConfig`. */
  async onModuleInit(): Promise<void> {
    const [row]: { known: string; beyond: string }[] = await this.dataSource.query(
      'SELECT count(*) AS known, count(*) FILTER (WHERE shard <> ALL($1)) AS beyond FROM shard_epochs',
      [shardNames(this.config.SHARDS)],
    );
    if (row && row.beyond !== '0') throw otherShards(this.config.SHARDS, Number(row.known));
  }
}

export function otherShards(found: number, known: number): InvalidConfig {
  return new InvalidConfig(
    `SHARDS: is ${found}, but this installation has ${known} shards; the number is fixed for its life`,
  );
}
