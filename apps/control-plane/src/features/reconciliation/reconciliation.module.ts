import { Module } from '@nestjs/common';
import { AlertsModule } from '../alerts/alerts.module.ts';
import { LiveStateModule } from '../live-state/live-state.module.ts';
import { SubscriptionsModule } from '../subscriptions/subscriptions.module.ts';
import { AlteredCounts } from './altered-counts.ts';
import { BalanceRepairs } from './balance-repairs.ts';
import { ClosedBalances } from './closed-balances.ts';
import { LostReaps } from './lost-reaps.ts';
import { Reconciler } from './reconciler.service.ts';
import { StandingUsage } from './standing-usage.ts';
import { UsageArrival } from './usage-arrival.ts';
import { UseGuard } from './use-guard.ts';
import { WrongTypes } from './wrong-types.ts';

@Module({
  imports: [AlertsModule, LiveStateModule, SubscriptionsModule],
  providers: [
    AlteredCounts,
    BalanceRepairs,
    LostReaps,
    Reconciler,
    StandingUsage,
    UsageArrival,
    UseGuard,
    ClosedBalances,
    WrongTypes,
  ],
  exports: [Reconciler, UseGuard],
})
export class ReconciliationModule {}
