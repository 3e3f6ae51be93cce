import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivityModule } from '../activity/activity.module.ts';
import { AlertsModule } from '../alerts/alerts.module.ts';
import { LiveStateModule } from '../live-state/live-state.module.ts';
import { BudgetBooking } from './budget-booking.sql.ts';
import { BudgetCalendar } from './budget-calendar.service.ts';
import { BudgetGuard } from './budget-guard.ts';
import { BudgetUsageService } from './budget-usage.service.ts';
import { BudgetRow } from './budget.entity.ts';
import { BudgetsController } from './budgets.controller.ts';
import { BudgetsService } from './budgets.service.ts';
import { PurchaseBudgets } from './purchase-budgets.service.ts';

@Module({
  imports: [TypeOrmModule.forFeature([BudgetRow]), ActivityModule, AlertsModule, LiveStateModule],
  controllers: [BudgetsController],
  providers: [
    BudgetsService,
    BudgetUsageService,
    BudgetBooking,
    BudgetCalendar,
    BudgetGuard,
    PurchaseBudgets,
  ],
  exports: [BudgetBooking, PurchaseBudgets],
})
export class BudgetsModule {}
