import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { formatAmount, micros } from '@tollgate/money';
import type { EntityManager, Repository } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { AccountScope } from '../../platform/access/account-scope.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { readPage, type Page } from '../../platform/http/list-query.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import { Idempotency } from '../../platform/idempotency/idempotency.ts';
import { ActivityService, SYSTEM, type Actor } from '../activity/activity.service.ts';
import { LedgerService } from '../wallet/ledger.service.ts';
import { PAYMENT_PROVIDER, type PaymentNotice, type PaymentProvider } from './payment-provider.ts';
import { Payment } from './payment.entity.ts';
import {
  toPaymentEntry,
  toPaymentResponse,
  type PaymentEntry,
  type PaymentResponse,
  type PaymentsQuery,
  type RechargeBody,
} from './payments.dto.ts';

@Injectable()
export class PaymentsService {
  constructor(
    @InjectRepository(Payment) private readonly payments: Repository<Payment>,
    @Inject(PAYMENT_PROVIDER) private readonly provider: PaymentProvider | null,
    private readonly ledger: LedgerService,
    private readonly scope: AccountScope,
    private readonly idempotency: Idempotency,
    private readonly activity: ActivityService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async list(caller: Caller, query: PaymentsQuery): Promise<Page<PaymentEntry>> {
    const userId = await this.scope.resolve(caller, query.user_id);
    const builder = this.payments
      .createQueryBuilder('payment')
      .where('payment.userId = :userId', { userId });
    if (query.status !== undefined)
      builder.andWhere('payment.status = :status', { status: query.status });
    return readPage(builder, query, {
      columns: { id: 'payment.id', created_at: 'payment.createdAt', amount: 'payment.amount' },
      search: ['payment.providerReference'],
      map: toPaymentEntry,
    });
  }

  async recharge(
    caller: Caller,
    key: string | undefined,
    body: RechargeBody,
  ): Promise<PaymentResponse> {
    const { provider } = this;
    if (!provider) throw new Refusal('payments_not_configured');
    const userId = await this.scope.resolve(caller, body.user_id);
    return this.idempotency.run(
      { userId: caller.userId, route: 'POST /wallet/recharge', key, body, status: 201 },
      async (tx) => {
        await this.scope.keep(tx, userId);
        const payment = await this.insert(tx, {
          userId,
          provider: provider.name,
          amount: body.amount,
          createdBy: caller.userId,
        });
        // The provider is called inside the transaction on purpose: no answer reaches the payer unless the row exists, and the provider's timeout is
        // far below the database's.
        const opened = await provider.open({
          paymentId: payment.id,
          userId,
          amount: body.amount,
          currency: payment.currency,
        });
        const saved = await tx
          .getRepository(Payment)
          .save({ ...payment, providerReference: opened.reference });
        this.activity.record(tx, caller, {
          action: 'wallet.recharge',
          target: { kind: 'payment', id: payment.id },
          after: { user_id: userId, amount: formatAmount(body.amount), provider: provider.name },
        });
        if (!opened.isPaid)
          return toPaymentResponse(saved, { checkoutUrl: opened.checkoutUrl, balance: null });
        const { payment: paid, balance } = await this.credit(tx, saved, caller);
        return toPaymentResponse(paid, { checkoutUrl: null, balance });
      },
    );
  }

  /** Books the provider's notice of a payment once. */
  async apply(
    tx: EntityManager,
    providerName: string,
    notice: Extract<PaymentNotice, { kind: 'paid' | 'failed' }>,
  ): Promise<void> {
    const payment = await tx.getRepository(Payment).findOne({
      where: { provider: providerName, providerReference: notice.reference },
      lock: { mode: 'pessimistic_write' },
    });
    // The payment belongs to another shop of the same Stripe account, or was reported already.
    if (!payment || payment.status === 'paid') return;
    const target = { kind: 'payment', id: payment.id };
    const actor: Actor = { ...SYSTEM, username: providerName };
    if (notice.kind === 'failed') {
      await tx.getRepository(Payment).save({ ...payment, status: 'failed' });
      this.activity.record(tx, actor, { action: 'payment.failed', target });
      return;
    }
    if (notice.amount !== payment.amount || notice.currency !== payment.currency) {
      throw new Refusal('payment_mismatch', {
        cause: `payment ${payment.id}: requested ${payment.amount} ${payment.currency}, reported ${notice.amount} ${notice.currency}`,
      });
    }
    await this.credit(tx, payment, actor);
    this.activity.record(tx, actor, {
      action: 'payment.paid',
      target,
      after: { user_id: payment.userId, amount: formatAmount(payment.amount) },
    });
  }

  /** Credits a payment once: the ledger knows its reference. */
  private async credit(
    tx: EntityManager,
    payment: Payment,
    actor: Actor,
  ): Promise<{ payment: Payment; balance: bigint | null }> {
    const wallet = { kind: 'wallet', userId: payment.userId } as const;
    const posted = await this.ledger.post(tx, {
      kind: 'recharge',
      reference: `payment:${payment.id}`,
      actorUserId: actor.userId,
      note: payment.provider,
      entries: [
        { account: { kind: 'payments' }, amount: micros(-payment.amount) },
        { account: wallet, amount: micros(payment.amount) },
      ],
    });
    const paid = await tx
      .getRepository(Payment)
      .save({ ...payment, status: 'paid', paidAt: payment.paidAt ?? new Date() });
    return { payment: paid, balance: posted?.balances[1]?.balance ?? null };
  }

  private async insert(
    tx: EntityManager,
    payment: Pick<Payment, 'userId' | 'provider' | 'amount' | 'createdBy'>,
  ): Promise<Payment> {
    const payments = tx.getRepository(Payment);
    return payments.save(
      payments.create({
        ...payment,
        currency: this.config.CURRENCY,
        status: 'open',
        providerReference: null,
        paidAt: null,
      }),
    );
  }
}
