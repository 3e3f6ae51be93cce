import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivityModule } from '../activity/activity.module.ts';
import { AlertsModule } from '../alerts/alerts.module.ts';
import { BudgetsModule } from '../budgets/budgets.module.ts';
import { EpochsModule } from '../epochs/epochs.module.ts';
import { LiveStateModule } from '../live-state/live-state.module.ts';
import { ModelsModule } from '../models/models.module.ts';
import { ProxyNodesModule } from '../proxy-nodes/proxy-nodes.module.ts';
import { ReconciliationModule } from '../reconciliation/reconciliation.module.ts';
import { SubscriptionsModule } from '../subscriptions/subscriptions.module.ts';
import { BurnRateService } from './api/burn-rate.service.ts';
import { UsageController } from './api/usage.controller.ts';
import { UsageLogsService } from './api/usage-logs.service.ts';
import { UsageReceiptService } from './api/usage-receipt.service.ts';
import { UsageStore } from './api/usage-store.sql.ts';
import { UsageStatisticsService } from './api/usage-statistics.service.ts';
import { UsageTopService } from './api/usage-top.service.ts';
import { DeadLettersController } from './dead-letters/dead-letters.controller.ts';
import { DeadLettersService } from './dead-letters/dead-letters.service.ts';
import { DeadLetterRow } from './dead-letters/dead-letter.entity.ts';
import { BookedFacts } from './ingest/booked-facts.ts';
import { BookedFigures } from './ingest/booked-figures.ts';
import { BookingTraces } from './ingest/booking-traces.ts';
import { DroppedTelemetry } from './ingest/dropped-telemetry.ts';
import { DroppedDays } from './ingest/dropped-days.sql.ts';
import { EventJudge } from './ingest/event-judge.ts';
import { BookedAtOnce } from './ingest/booked-at-once.ts';
import { KnownFacts } from './ingest/known-facts.ts';
import { KnownWithdrawals } from './ingest/known-withdrawals.sql.ts';
import { LateUsage } from './ingest/late-usage.sql.ts';
import { UsageIngest } from './ingest/usage-ingest.service.ts';
import { UsagePartitions } from './ingest/usage-partitions.sql.ts';
import { PartitionKeeper } from './ingest/partition-keeper.ts';
import { RecentSumsKeeper } from './recent-sums-keeper.ts';
import { RollupKeeper } from './rollup-keeper.ts';
import { UsageRows } from './ingest/usage-rows.sql.ts';
import { UsageWorker } from './ingest/usage-worker.ts';
import { JournalController } from './journal/journal.controller.ts';
import { JournalService } from './journal/journal.service.ts';

@Module({
  imports: [
    TypeOrmModule.forFeature([DeadLetterRow]),
    ActivityModule,
    SubscriptionsModule,
    LiveStateModule,
    AlertsModule,
    BudgetsModule,
    ModelsModule,
    EpochsModule,
    ProxyNodesModule,
    ReconciliationModule,
  ],
  controllers: [UsageController, JournalController, DeadLettersController],
  providers: [
    BookedFacts,
    BookedFigures,
    BookingTraces,
    DeadLettersService,
    DroppedTelemetry,
    DroppedDays,
    EventJudge,
    BookedAtOnce,
    KnownFacts,
    KnownWithdrawals,
    LateUsage,
    JournalService,
    UsageIngest,
    UsageWorker,
    PartitionKeeper,
    RecentSumsKeeper,
    RollupKeeper,
    UsagePartitions,
    UsageRows,
    UsageStore,
    UsageLogsService,
    UsageStatisticsService,
    UsageTopService,
    UsageReceiptService,
    BurnRateService,
  ],
  exports: [UsageWorker, UsageIngest, UsageLogsService, UsageStore],
})
export class UsageModule {}
