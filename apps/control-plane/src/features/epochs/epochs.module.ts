import { Module } from '@nestjs/common';
import {
  EpochCache,
  Epochs,
  FunctionLibrary,
  LiveRecords,
  ReapedRequests,
  type RedisConnection,
} from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { DomainEvents } from '../../platform/domain-events/domain-events.ts';
import { REDIS } from '../../platform/redis/redis.module.ts';
import { AlertsModule } from '../alerts/alerts.module.ts';
import { LiveRebuildService } from '../live-state/live-rebuild.service.ts';
import { LiveRows } from '../live-state/live-rows.sql.ts';
import { EpochsService } from './epochs.service.ts';
import { ForeignRedis } from './foreign-redis.ts';
import { ShardCount } from './shard-count.sql.ts';
import { ShardEpochs } from './shard-epochs.sql.ts';
import { ShardFiller } from './shard-filler.ts';
import { ShardOpening } from './shard-opening.ts';

@Module({
  imports: [AlertsModule],
  providers: [
    EpochsService,
    ForeignRedis,
    ShardCount,
    ShardEpochs,
    ShardOpening,
    {
      provide: ShardFiller,
      inject: [DataSource, REDIS, FunctionLibrary, Epochs, CONFIG, DomainEvents],
      // Writes under the mark of a rebuild, which excludes all other writers until the shard is complete.
      useFactory: (
        dataSource: DataSource,
        redis: RedisConnection,
        library: FunctionLibrary,
        epochs: Epochs,
        config: Config,
        events: DomainEvents,
      ) => {
        const records = new LiveRecords({
          redis,
          library,
          epochs: new EpochCache(epochs, { isRebuilder: true }),
          shards: config.SHARDS,
        });
        return new ShardFiller(
          new LiveRebuildService(new LiveRows(dataSource), records, config),
          new ReapedRequests({ redis, library, epochs: new EpochCache(epochs) }),
          events,
        );
      },
    },
  ],
  exports: [EpochsService, ShardCount, ShardEpochs, ShardFiller],
})
export class EpochsModule {}
