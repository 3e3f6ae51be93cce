import { Inject, Injectable } from '@nestjs/common';
import { micros } from '@tollgate/money';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { BackgroundService } from '../../platform/background/background-service.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { PAYMENT_PROVIDER, type PaymentProvider } from './payment-provider.ts';
import { PayoutSettlement } from './payout-settlement.ts';

const LOOK_EVERY_MS = 30_000;
/** Far above what the calls of one attempt take, so that no other replica sends it meanwhile. It is the first pause after a failure, too. */
const LEASE = '2 minutes';
const PAUSE_DOUBLINGS_MAX = 5;
/** Attempts without an outcome, until an alert is raised. */
const ATTEMPTS_BEFORE_ALERT = 3;

const claimedRow = z
  .object({
    id: z.number(),
    user_id: z.number(),
    amount: z.coerce.bigint(),
    currency: z.string(),
    attempts: z.number(),
    payment_reference: z.string(),
  })
  .transform((row) => ({
    id: row.id,
    userId: row.user_id,
    amount: micros(row.amount),
    currency: row.currency,
    attempts: row.attempts,
    paymentReference: row.payment_reference,
  }));
type Claimed = z.output<typeof claimedRow>;

/** Asks the provider for each payout until its outcome is known, on any replica and across restarts. The provider pays each back once. */
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

  /** Sends at once what a transaction has committed, on a replica that sends payouts. */
  wake(): void {
    this.loop.wakeWithin(0);
  }

  protected runOnce(): Promise<void> {
    return this.sendAll();
  }

  /** Also for tests: all that are due now. */
  async sendAll(): Promise<void> {
    for (let claimed = await this.claim(); claimed; claimed = await this.claim())
      await this.send(claimed);
  }

  private async claim(): Promise<Claimed | undefined> {
    // TypeORM answers an UPDATE with its rows and their number.
    const [rows]: [unknown[], number] = await this.dataSource.query(
      `UPDATE payouts o SET attempts = o.attempts + 1, retry_at = now() + interval '${LEASE}' * power(2, least(o.attempts, ${PAUSE_DOUBLINGS_MAX}))
       FROM payments p WHERE p.id = o.payment_id AND o.id = (
         SELECT id FROM payouts WHERE status = 'pending' AND retry_at <= now() AND provider = $1 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING o.id, o.user_id, o.amount::text AS amount, o.currency, o.attempts, p.provider_reference AS payment_reference`,
      [this.provider?.name],
    );
    return rows[0] === undefined ? undefined : claimedRow.parse(rows[0]);
  }

  private async send(claimed: Claimed): Promise<void> {
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

  private async note({ id, userId, attempts }: Claimed): Promise<void> {
    await this.transactions.run(async (tx) => {
      await tx.query(
        "UPDATE payouts SET failure = 'the payment provider does not answer' WHERE id = $1 AND status = 'pending'",
        [id],
      );
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
