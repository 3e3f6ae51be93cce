import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { PAYMENT_PROVIDER, type PaymentProvider } from './payment-provider.ts';
import { claimPayout, noteSilence, type ClaimedPayout } from './claimed-payouts.sql.ts';
import { PayoutSettlement } from './payout-settlement.ts';

const LOOK_EVERY_MS = 30_000;
/** Is the number of attempts without an outcome after which an alert is raised. */
const ATTEMPTS_BEFORE_ALERT = 3;

/** Calls the provider for each payout until its outcome is known, on any replica and across restarts. The provider pays each back once. */
@Injectable()
export class PayoutSender extends BackgroundService {
  constructor(
    @Inject(PAYMENT_PROVIDER) private readonly provider: PaymentProvider | null,
    private readonly dataSource: DataSource,
    private readonly transactions: Transactions,
    private readonly settlement: PayoutSettlement,
    private readonly alerts: AlertsService,
  ) {
    super({
      name: 'payouts',
      everyMs: LOOK_EVERY_MS,
      failing: 'payouts cannot be read',
      stopsFirst: true,
    });
  }

  override onApplicationBootstrap(): void {
    if (this.provider) this.loop.start();
  }

  /** Sends committed payouts at once, on a replica that sends payouts. */
  wake(): void {
    this.loop.wakeWithin(0);
  }

  protected runOnce(): Promise<void> {
    return this.sendAll();
  }

  /** Sends all payouts that are due now. Tests call this method, too. */
  async sendAll(): Promise<void> {
    if (!this.provider) return;
    const claim = claimPayout.bind(null, this.dataSource, this.provider.name);
    for (let claimed = await claim(); claimed; claimed = await claim()) await this.send(claimed);
  }

  private async send(claimed: ClaimedPayout): Promise<void> {
    const { id: payoutId, paymentReference, amount, currency } = claimed;
    try {
      const paidBack = await this.provider?.payBack({
        payoutId,
        paymentReference,
        amount,
        currency,
      });
      if (paidBack) await this.settlement.settle(payoutId, paidBack);
    } catch (error) {
      this.logger.warn(error, `payout ${payoutId} has no outcome yet`);
      await this.note(claimed);
    }
  }

  private async note({ id, userId, attempts }: ClaimedPayout): Promise<void> {
    await this.transactions.run(async (tx) => {
      await noteSilence(tx, id);
      if (attempts < ATTEMPTS_BEFORE_ALERT) return;
      await this.alerts.raise(tx, {
        rule: 'payout_unsettled',
        subject: `payout:${id}`,
        message: `Payout ${id} of user ${userId} has no outcome after ${attempts} attempts`,
        detail: { user_id: userId, payout_id: id, attempts },
      });
    });
  }
}
