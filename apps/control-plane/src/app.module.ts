import { Module, type DynamicModule } from '@nestjs/common';
import type { Config } from './config.ts';
import { ActivityModule } from './features/activity/activity.module.ts';
import { AuthModule } from './features/auth/auth.module.ts';
import { PaymentsModule } from './features/payments/payments.module.ts';
import { UsersModule } from './features/users/users.module.ts';
import { WalletModule } from './features/wallet/wallet.module.ts';
import { AccessModule } from './platform/access/access.module.ts';
import { ConfigModule } from './platform/config.module.ts';
import { DatabaseModule } from './platform/database/database.module.ts';
import { HttpModule } from './platform/http/http.module.ts';
import { IdempotencyModule } from './platform/idempotency/idempotency.module.ts';
import { RedisModule } from './platform/redis/redis.module.ts';
import { SecretsModule } from './platform/secrets/secrets.module.ts';

const PLATFORM: NonNullable<DynamicModule['imports']> = [DatabaseModule, RedisModule, AccessModule, HttpModule, IdempotencyModule, SecretsModule];

/** Features add their module to this list, nothing else. */
const FEATURES: NonNullable<DynamicModule['imports']> = [
  ActivityModule,
  AuthModule,
  PaymentsModule,
  UsersModule,
  WalletModule,
];

@Module({})
export class AppModule {
  static with(config: Config): DynamicModule {
    return { module: AppModule, imports: [ConfigModule.with(config), ...PLATFORM, ...FEATURES] };
  }
}
