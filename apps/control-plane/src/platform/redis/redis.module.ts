import { Global, Inject, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import {
  Acknowledgements,
  EpochCache,
  Epochs,
  FleetStore,
  FunctionLibrary,
  IncidentReports,
  KeyTypes,
  KeyWindows,
  LiveCounts,
  LiveRecords,
  LostWithdrawals,
  MeteringStore,
  ReapedRequests,
  openRedis,
  type RedisConnection,
} from '@tollgate/keyspace';
import type { ControlPlaneMac } from '@tollgate/contracts';
import { CONFIG, type Config } from '../../config.ts';
import { CONTROL_PLANE_MAC } from '../secrets/secrets.module.ts';
import { LibraryKeeper } from './library-keeper.ts';
import { outageLog } from './outage-log.ts';
import { RedisAtStart } from './redis-at-start.ts';
import { REDIS } from './redis-token.ts';

export { REDIS };

const logger = new Logger('redis');

/** While Redis is away every call of these classes fails at once. PostgreSQL continues, and writes that Redis misses wait in the outbox. */
@Global()
@Module({
  providers: [
    LibraryKeeper,
    RedisAtStart,
    {
      provide: REDIS,
      inject: [CONFIG],
      useFactory: (config: Config) =>
        openRedis(config.REDIS_URL, {
          role: 'plain',
          name: 'tollgate-control-plane',
          onError: outageLog(logger, 'the connection'),
        }),
    },
    {
      provide: FunctionLibrary,
      inject: [REDIS],
      useFactory: (redis: RedisConnection) => new FunctionLibrary(redis),
    },
    {
      provide: Epochs,
      inject: [REDIS, FunctionLibrary],
      useFactory: (redis: RedisConnection, library: FunctionLibrary) => new Epochs(redis, library),
    },
    {
      provide: EpochCache,
      inject: [Epochs],
      useFactory: (epochs: Epochs) => new EpochCache(epochs),
    },
    {
      provide: MeteringStore,
      inject: [FunctionLibrary, EpochCache, CONFIG],
      useFactory: (library: FunctionLibrary, epochs: EpochCache, config: Config) =>
        new MeteringStore({ library, epochs, shards: config.SHARDS }),
    },
    {
      provide: LiveRecords,
      inject: [REDIS, FunctionLibrary, EpochCache, CONFIG],
      useFactory: (
        redis: RedisConnection,
        library: FunctionLibrary,
        epochs: EpochCache,
        config: Config,
      ) => new LiveRecords({ redis, library, epochs, shards: config.SHARDS }),
    },
    {
      provide: LiveCounts,
      inject: [FunctionLibrary, EpochCache, CONFIG],
      useFactory: (library: FunctionLibrary, epochs: EpochCache, config: Config) =>
        new LiveCounts({ library, epochs, shards: config.SHARDS }),
    },
    {
      provide: LostWithdrawals,
      inject: [FunctionLibrary, EpochCache, CONFIG],
      useFactory: (library: FunctionLibrary, epochs: EpochCache, config: Config) =>
        new LostWithdrawals({ library, epochs, shards: config.SHARDS }),
    },
    {
      provide: ReapedRequests,
      inject: [REDIS, FunctionLibrary, EpochCache],
      useFactory: (redis: RedisConnection, library: FunctionLibrary, epochs: EpochCache) =>
        new ReapedRequests({ redis, library, epochs }),
    },
    {
      provide: KeyTypes,
      inject: [REDIS, CONFIG],
      useFactory: (redis: RedisConnection, config: Config) =>
        new KeyTypes({ redis, shards: config.SHARDS }),
    },
    {
      provide: KeyWindows,
      inject: [REDIS, CONFIG],
      useFactory: (redis: RedisConnection, config: Config) =>
        new KeyWindows({ redis, shards: config.SHARDS }),
    },
    {
      provide: FleetStore,
      inject: [REDIS, FunctionLibrary],
      useFactory: (redis: RedisConnection, library: FunctionLibrary) =>
        new FleetStore({ redis, library }),
    },
    {
      provide: IncidentReports,
      inject: [REDIS],
      useFactory: (redis: RedisConnection) => new IncidentReports(redis),
    },
    {
      provide: Acknowledgements,
      inject: [REDIS, CONTROL_PLANE_MAC],
      useFactory: (redis: RedisConnection, mac: ControlPlaneMac) =>
        new Acknowledgements({ redis, mac }),
    },
  ],
  exports: [
    REDIS,
    LibraryKeeper,
    RedisAtStart,
    FunctionLibrary,
    Epochs,
    EpochCache,
    MeteringStore,
    KeyTypes,
    KeyWindows,
    LiveCounts,
    LiveRecords,
    LostWithdrawals,
    ReapedRequests,
    FleetStore,
    IncidentReports,
    Acknowledgements,
  ],
})
export class RedisModule implements OnApplicationShutdown {
  constructor(@Inject(REDIS) private readonly redis: RedisConnection) {}

  onApplicationShutdown(): void {
    this.redis.disconnect();
  }
}
