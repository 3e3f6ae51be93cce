import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivityModule } from '../activity/activity.module.ts';
import { AlertsModule } from '../alerts/alerts.module.ts';
import { BudgetsModule } from '../budgets/budgets.module.ts';
import { LiveStateModule } from '../live-state/live-state.module.ts';
import { ModelsController } from '../models/models.controller.ts';
import { ModelsModule } from '../models/models.module.ts';
import { WalletModule } from '../wallet/wallet.module.ts';
import { AutoRechargeSettings } from './auto-recharge/auto-recharge-settings.service.ts';
import { AutoRechargeTriggers } from './auto-recharge/auto-recharge-triggers.ts';
import { AutoRechargeService } from './auto-recharge/auto-recharge.service.ts';
import { ModelsOfMovements } from './models-of-movements.sql.ts';
import { MySubscriptions } from './my-subscriptions.service.ts';
import { BalanceWatch } from './balance-watch.ts';
import { PurchasesService } from './purchases.service.ts';
import { RefundPreviewService } from './refund-preview.service.ts';
import { SubscriptionRow } from './subscription.entity.ts';
import { SubscriptionHistoryController } from './subscription-history.controller.ts';
import { SubscriptionHistoryService } from './subscription-history.service.ts';
import { SubscriptionsController } from './subscriptions.controller.ts';
import { SubscriptionsService } from './subscriptions.service.ts';
import { TokenLedger } from './token-ledger.service.ts';
import { WalletLogsController } from './wallet-logs.controller.ts';
import { WithdrawalBooking } from './withdrawal-booking.sql.ts';
import { WithdrawalsService } from './withdrawals.service.ts';

@Module({
  imports: [
    TypeOrmModule.forFeature([SubscriptionRow]),
    ModelsModule,
    WalletModule,
    LiveStateModule,
    BudgetsModule,
    ActivityModule,
    AlertsModule,
  ],
  // The order matters: `models/my` must be registered before `models/:id`, which would match it.
  controllers: [
    SubscriptionsController,
    ModelsController,
    SubscriptionHistoryController,
    WalletLogsController,
  ],
  providers: [
    TokenLedger,
    PurchasesService,
    AutoRechargeService,
    AutoRechargeTriggers,
    BalanceWatch,
    AutoRechargeSettings,
    ModelsOfMovements,
    MySubscriptions,
    SubscriptionsService,
    WithdrawalsService,
    WithdrawalBooking,
    RefundPreviewService,
    SubscriptionHistoryService,
  ],
  exports: [
    TokenLedger,
    PurchasesService,
    AutoRechargeService,
    AutoRechargeSettings,
    MySubscriptions,
    SubscriptionsService,
    WithdrawalsService,
    WithdrawalBooking,
    RefundPreviewService,
    SubscriptionHistoryService,
  ],
})
export class SubscriptionsModule {}
