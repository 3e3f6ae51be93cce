import { Injectable } from '@nestjs/common';
import { formatAmount, micros } from '@tollgate/money';
import type { EntityManager } from 'typeorm';
import { Transactions } from '../../platform/database/transactions.ts';
import { ActivityService, SYSTEM, type Actor } from '../activity/activity.service.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { LedgerService } from '../wallet/ledger.service.ts';
import type { PaidBack, PaymentNotice } from './payment-provider.ts';
import { Payment } from './payment.entity.ts';
import { Payout } from './payout.entity.ts';

/** Completes payouts with the provider's outcome. An amount that the provider does not pay returns to the wallet, once. */
@Injectable()
export class PayoutSettlement {
  constructor(
    private readonly transactions: Transactions,
    private readonly ledger: LedgerService,
    private readonly alerts: AlertsService,
    private readonly activity: ActivityService,
  ) {}

  /** Applies the provider's answer. It has no effect on a payout that is already settled. */
  async settle(payoutId: number, paidBack: PaidBack): Promise<void> {
    await this.transactions.run(async (tx) => {
      const payout = await tx
        .getRepository(Payout)
        .findOne({ where: { id: payoutId }, lock: { mode: 'pessimistic_write' } });
      if (payout?.status !== 'pending') return;
      if (paidBack.kind === 'refused') return this.giveBack(tx, payout, paidBack.reason);
      await this.end(tx, payout, {
        status: 'paid',
        providerReference: paidBack.reference,
        failure: null,
      });
    });
  }

  /** Handles the provider's later notice that an accepted payout has failed. */
  async failed(
    provider: string,
    { payoutId, paymentReference, reason }: Extract<PaymentNotice, { kind: 'payout_failed' }>,
  ): Promise<void> {
    await this.transactions.run(async (tx) => {
      const payment = await tx
        .getRepository(Payment)
        .findOneBy({ provider, providerReference: paymentReference });
      const payout = await tx
        .getRepository(Payout)
        .findOne({ where: { id: payoutId }, lock: { mode: 'pessimistic_write' } });
      // The payout is unknown here, or its amount was returned already.
      if (!payment || payout?.paymentId !== payment.id || payout.status === 'failed') return;
      await this.giveBack(tx, payout, reason);
    });
  }

  private async giveBack(tx: EntityManager, payout: Payout, reason: string): Promise<void> {
    await this.ledger.post(tx, {
      kind: 'payout_return',
      reference: `payout:${payout.id}`,
      actorUserId: null,
      note: reason,
      entries: [
        { account: { kind: 'payments' }, amount: micros(-payout.amount) },
        { account: { kind: 'wallet', userId: payout.userId }, amount: micros(payout.amount) },
      ],
    });
    await this.end(tx, payout, { status: 'failed', failure: reason });
  }

  private async end(
    tx: EntityManager,
    payout: Payout,
    change: Pick<Payout, 'status' | 'failure'> & Partial<Payout>,
  ): Promise<void> {
    await tx.getRepository(Payout).save({ ...payout, ...change, settledAt: new Date() });
    await this.alerts.resolve(tx, { rule: 'payout_unsettled', subject: `payout:${payout.id}` });
    const actor: Actor = { ...SYSTEM, username: payout.provider };
    this.activity.record(tx, actor, {
      action: `payout.${change.status}`,
      target: { kind: 'payout', id: payout.id },
      after: { user_id: payout.userId, amount: formatAmount(payout.amount) },
    });
  }
}
