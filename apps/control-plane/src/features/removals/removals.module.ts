import { Module } from '@nestjs/common';
import { KeysModule } from '../keys/keys.module.ts';
import { ModelsModule } from '../models/models.module.ts';
import { PaymentsModule } from '../payments/payments.module.ts';
import { RoutingModule } from '../routing/routing.module.ts';
import { SubscriptionsModule } from '../subscriptions/subscriptions.module.ts';
import { UsersModule } from '../users/users.module.ts';
import { WalletModule } from '../wallet/wallet.module.ts';
import { AccountRemoval } from './account-removal.service.ts';
import { ModelRemoval } from './model-removal.service.ts';
import { AccountRemovalController, ModelRemovalController } from './removals.controller.ts';

@Module({
  imports: [
    UsersModule,
    ModelsModule,
    WalletModule,
    PaymentsModule,
    SubscriptionsModule,
    RoutingModule,
    KeysModule,
  ],
  controllers: [AccountRemovalController, ModelRemovalController],
  providers: [AccountRemoval, ModelRemoval],
})
export class RemovalsModule {}
