import { Module } from '@nestjs/common';
import { KeysModule } from '../keys/keys.module.ts';
import { ModelsModule } from '../models/models.module.ts';
import { SubscriptionsModule } from '../subscriptions/subscriptions.module.ts';
import { WalletModule } from '../wallet/wallet.module.ts';
import { UsageModule } from '../usage/usage.module.ts';
import { BudgetPreviews } from './budget-previews.service.ts';
import { ChargePreviews } from './charge-previews.service.ts';
import { PreviewsController } from './previews.controller.ts';
import { PurchasePreviews } from './purchase-previews.service.ts';

@Module({
  imports: [KeysModule, ModelsModule, SubscriptionsModule, UsageModule, WalletModule],
  controllers: [PreviewsController],
  providers: [PurchasePreviews, ChargePreviews, BudgetPreviews],
})
export class PreviewsModule {}
