import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActivityModule } from '../activity/activity.module.ts';
import { CeilingsModule } from '../ceilings/ceilings.module.ts';
import { KeysModule } from '../keys/keys.module.ts';
import { LiveStateModule } from '../live-state/live-state.module.ts';
import { SubscriptionsModule } from '../subscriptions/subscriptions.module.ts';
import { PaymentsModule } from '../payments/payments.module.ts';
import { WalletModule } from '../wallet/wallet.module.ts';
import { AccountClosing } from './account-closing.ts';
import { AccountIssuing } from './account-issuing.service.ts';
import { AccountsService } from './accounts.service.ts';
import { User } from './user.entity.ts';
import { UsersController } from './users.controller.ts';
import { UsersService } from './users.service.ts';

@Module({
  imports: [
    TypeOrmModule.forFeature([User]),
    ActivityModule,
    WalletModule,
    PaymentsModule,
    SubscriptionsModule,
    KeysModule,
    CeilingsModule,
    LiveStateModule,
  ],
  controllers: [UsersController],
  providers: [UsersService, AccountsService, AccountClosing, AccountIssuing],
  exports: [AccountsService],
})
export class UsersModule {}
