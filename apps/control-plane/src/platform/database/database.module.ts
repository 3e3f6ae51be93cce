import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { dataSourceOptions } from './data-source-options.ts';
import { openDatabase } from './open-database.ts';
import { Transactions } from './transactions.ts';

/** Provides the one data source. The migrations have run before the first provider gets it. */
@Global()
@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      inject: [CONFIG],
      useFactory: (config: Config) => ({
        ...dataSourceOptions(config),
        autoLoadEntities: true,
        retryAttempts: 0,
      }),
      dataSourceFactory: async (options) => {
        if (!options) throw new Error('the data source needs options');
        return openDatabase(options);
      },
    }),
  ],
  providers: [Transactions],
  exports: [Transactions],
})
export class DatabaseModule {}
