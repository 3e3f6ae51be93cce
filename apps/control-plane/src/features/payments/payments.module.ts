import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { ActivityModule } from '../activity/activity.module.ts';
import { AlertsModule } from '../alerts/alerts.module.ts';
import { WalletModule } from '../wallet/wallet.module.ts';
import { PAYMENT_PROVIDER, type PaymentProvider } from './payment-provider.ts';
import { Payment } from './payment.entity.ts';
import { PaymentsController } from './payments.controller.ts';
import { Payout } from './payout.entity.ts';
import { PayoutSender } from './payout-sender.ts';
import { PaymentNotices } from './payment-notices.ts';
import { PayoutSettlement } from './payout-settlement.ts';
import { PayoutsService } from './payouts.service.ts';
import { PaymentsService } from './payments.service.ts';
import { SandboxProvider } from './sandbox-provider.ts';
import { StripeProvider } from './stripe-provider.ts';

@Module({
  imports: [
    TypeOrmModule.forFeature([Payment, Payout]),
    ActivityModule,
    AlertsModule,
    WalletModule,
  ],
  controllers: [PaymentsController],
  providers: [
    PaymentsService,
    PayoutsService,
    PayoutSender,
    PayoutSettlement,
    PaymentNotices,
    { provide: PAYMENT_PROVIDER, inject: [CONFIG], useFactory: chooseProvider },
  ],
  exports: [PayoutsService],
})
export class PaymentsModule {}

function chooseProvider(config: Config): PaymentProvider | null {
  switch (config.PAYMENTS) {
    case 'sandbox':
      return new SandboxProvider();
    case 'stripe':
      return new StripeProvider({
        secretKey: config.STRIPE_SECRET_KEY ?? '',
        webhookSecret: config.STRIPE_WEBHOOK_SECRET ?? '',
        returnUrl: config.PAYMENT_RETURN_URL ?? '',
        apiUrl: config.STRIPE_API_URL,
      });
    case 'none':
      return null;
  }
}
