import { Module, type DynamicModule } from '@nestjs/common';
import type { Config } from './config.ts';
import { ActivityModule } from './features/activity/activity.module.ts';
import { AlertsModule } from './features/alerts/alerts.module.ts';
import { AuthModule } from './features/auth/auth.module.ts';
import { BooksModule } from './features/books/books.module.ts';
import { BudgetsModule } from './features/budgets/budgets.module.ts';
import { CeilingsModule } from './features/ceilings/ceilings.module.ts';
import { ConfigCheckModule } from './features/config-check/config-check.module.ts';
import { DashboardModule } from './features/dashboard/dashboard.module.ts';
import { EpochsModule } from './features/epochs/epochs.module.ts';
import { DirectoryModule } from './features/directory/directory.module.ts';
import { EventsModule } from './features/events/events.module.ts';
import { FirstStepsModule } from './features/first-steps/first-steps.module.ts';
import { IncidentsModule } from './features/incidents/incidents.module.ts';
import { KeysModule } from './features/keys/keys.module.ts';
import { FiguresModule } from './features/metrics/figures.module.ts';
import { MadeByTokensModule } from './features/made-by-tokens/made-by-tokens.module.ts';
import { PaymentsModule } from './features/payments/payments.module.ts';
import { PlaygroundModule } from './features/playground/playground.module.ts';
import { PreviewsModule } from './features/previews/previews.module.ts';
import { ProxyNodesModule } from './features/proxy-nodes/proxy-nodes.module.ts';
import { ReconciliationModule } from './features/reconciliation/reconciliation.module.ts';
import { BulkModule } from './features/bulk/bulk.module.ts';
import { RemovalsModule } from './features/removals/removals.module.ts';
import { RoutingModule } from './features/routing/routing.module.ts';
import { SearchModule } from './features/search/search.module.ts';
import { SnapshotsModule } from './features/snapshots/snapshots.module.ts';
import { SubscriptionsModule } from './features/subscriptions/subscriptions.module.ts';
import { UpstreamsModule } from './features/upstreams/upstreams.module.ts';
import { UsageModule } from './features/usage/usage.module.ts';
import { UsersModule } from './features/users/users.module.ts';
import { WalletModule } from './features/wallet/wallet.module.ts';
import { AccessModule } from './platform/access/access.module.ts';
import { ConfigModule } from './platform/config.module.ts';
import { DatabaseModule } from './platform/database/database.module.ts';
import { DomainEventsModule } from './platform/domain-events/domain-events.module.ts';
import { HousekeepingModule } from './platform/housekeeping/housekeeping.module.ts';
import { ServerModule } from './platform/server/server.module.ts';
import { IdempotencyModule } from './platform/idempotency/idempotency.module.ts';
import { MetricsModule } from './platform/metrics/metrics.module.ts';
import { QueuesModule } from './platform/queues/queues.module.ts';
import { OpenApiModule } from './platform/openapi/openapi.module.ts';
import { RedisModule } from './platform/redis/redis.module.ts';
import { SecretsModule } from './platform/secrets/secrets.module.ts';
import { TracingModule } from './platform/tracing/tracing.module.ts';

const PLATFORM: NonNullable<DynamicModule['imports']> = [
  DatabaseModule,
  DomainEventsModule,
  RedisModule,
  HousekeepingModule,
  QueuesModule,
  MetricsModule,
  TracingModule,
  AccessModule,
  ServerModule,
  IdempotencyModule,
  SecretsModule,
  OpenApiModule,
];

/** Features add their module to this list, in the order of features/README.md, and nothing else. */
const FEATURES: NonNullable<DynamicModule['imports']> = [
  ActivityModule,
  AlertsModule,
  UsersModule,
  AuthModule,
  CeilingsModule,
  BudgetsModule,
  SnapshotsModule,
  WalletModule,
  PaymentsModule,
  SubscriptionsModule,
  ReconciliationModule,
  EpochsModule,
  ProxyNodesModule,
  UpstreamsModule,
  UsageModule,
  RoutingModule,
  KeysModule,
  PlaygroundModule,
  BooksModule,
  ConfigCheckModule,
  DashboardModule,
  DirectoryModule,
  EventsModule,
  FirstStepsModule,
  IncidentsModule,
  FiguresModule,
  PreviewsModule,
  SearchModule,
  MadeByTokensModule,
  RemovalsModule,
  BulkModule,
];

@Module({})
export class AppModule {
  static with(config: Config): DynamicModule {
    return { module: AppModule, imports: [ConfigModule.with(config), ...PLATFORM, ...FEATURES] };
  }
}
