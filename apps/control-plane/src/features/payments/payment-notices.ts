import { Inject, Injectable } from '@nestjs/common';
import { Transactions } from '../../platform/database/transactions.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import { PAYMENT_PROVIDER, type PaymentProvider } from './payment-provider.ts';
import { PaymentsService } from './payments.service.ts';
import { PayoutSettlement } from './payout-settlement.ts';

/** Handles the notices of the payment provider's webhook. */
@Injectable()
export class PaymentNotices {
  constructor(
    @Inject(PAYMENT_PROVIDER) private readonly provider: PaymentProvider | null,
    private readonly payments: PaymentsService,
    private readonly payouts: PayoutSettlement,
    private readonly transactions: Transactions,
  ) {}

  /** Answers 200 to authentic notices even when they change nothing, because the provider would otherwise repeat them for days. */
  async take(
    providerName: string,
    rawBody: Buffer,
    signature: string | undefined,
  ): Promise<{ received: true }> {
    const { provider } = this;
    if (provider?.name !== providerName || !provider.readNotice) throw new Refusal('not_found');
    const notice = provider.readNotice(rawBody, signature);
    if (notice.kind === 'payout_failed') await this.payouts.failed(providerName, notice);
    else if (notice.kind !== 'other')
      await this.transactions.run((tx) => this.payments.apply(tx, providerName, notice));
    return { received: true };
  }
}
