import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { formatAmount, micros, type Micros } from '@tollgate/money';
import { In, type EntityManager, type Repository } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { AccountScope } from '../../platform/access/account-scope.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { afterCommit } from '../../platform/database/transactions.ts';
import { readPage, type Page } from '../../platform/http/list-query.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import { Idempotency } from '../../platform/idempotency/idempotency.ts';
import { WalletCorrections } from '../wallet/wallet-corrections.ts';
import type { WithdrawBody } from '../wallet/wallet.dto.ts';
import { PAYMENT_PROVIDER, type PaymentProvider } from './payment-provider.ts';
import { paidBackOf } from './paid-back.sql.ts';
import { Payment } from './payment.entity.ts';
import { PayoutSender } from './payout-sender.ts';
import { Payout } from './payout.entity.ts';
import {
  toPayoutResponse,
  type PayoutResponse,
  type PayoutsQuery,
  type WalletWithdrawal,
} from './payouts.dto.ts';

/** Each part of a withdrawal is one call of the provider. */
const PAYMENTS_PER_WITHDRAWAL_MAX = 100;

interface Part {
  paymentId: number;
  amount: bigint;
}

/** Withdraws money from a wallet. The wallet is debited before the provider is called, and PayoutSettlement returns what the provider does not pay. */
@Injectable()
export class PayoutsService {
  constructor(
    @InjectRepository(Payout) private readonly payouts: Repository<Payout>,
    @Inject(PAYMENT_PROVIDER) private readonly provider: PaymentProvider | null,
    private readonly corrections: WalletCorrections,
    private readonly scope: AccountScope,
    private readonly idempotency: Idempotency,
    private readonly sender: PayoutSender,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async list(caller: Caller, query: PayoutsQuery): Promise<Page<PayoutResponse>> {
    const userId = await this.scope.resolve(caller, query.user_id);
    const builder = this.payouts
      .createQueryBuilder('payout')
      .where('payout.userId = :userId', { userId });
    if (query.status !== undefined)
      builder.andWhere('payout.status = :status', { status: query.status });
    return readPage(builder, query, {
      columns: { id: 'payout.id', created_at: 'payout.createdAt', amount: 'payout.amount' },
      search: ['payout.providerReference'],
      map: toPayoutResponse,
    });
  }

  /** Withdraws money of the caller. Throws insufficient_funds when the wallet holds less, and payout_limit above the amount that the account paid in through the provider. */
  async withdraw(
    caller: Caller,
    key: string | undefined,
    { to, ...body }: WithdrawBody,
  ): Promise<WalletWithdrawal> {
    if (to === 'hand')
      return { ...(await this.corrections.withdrawByHand(caller, key, body)), payouts: [] };
    const { provider } = this;
    if (!provider) throw new Refusal('payments_not_configured');
    this.corrections.refuseBeyondLimit(body.amount);
    provider.refuseFraction(body.amount, this.config.CURRENCY);
    const route = 'POST /wallet/withdraw';
    const request = { userId: caller.userId, route, key, body: { ...body, to }, status: 200 };
    return this.idempotency.run(request, async (tx) => {
      // Payments are locked before the wallet, in the order of notices.
      const userId = await this.scope.resolve(caller, body.user_id, tx);
      const parts = await this.split(tx, { userId, provider: provider.name, amount: body.amount });
      const correction = await this.corrections.payOut(tx, caller, body);
      const payouts = await this.insert(tx, parts, {
        userId,
        provider: provider.name,
        transactionId: correction.transaction_id,
      });
      afterCommit(tx, async () => this.sender.wake());
      return { ...correction, payouts: payouts.map(toPayoutResponse) };
    });
  }

  /** Returns the micro-units that are on their way to the provider and may return to the wallet. */
  async pendingOf(tx: EntityManager, userId: number): Promise<Micros> {
    const rows = await tx.getRepository(Payout).findBy({ userId, status: 'pending' });
    return micros(rows.reduce((sum, { amount }) => sum + amount, 0n));
  }

  /**
   * Splits the amount over payments, newest first, because a provider refunds an old one less reliably. The payments stay locked, so that two
   * withdrawals count each other.
   */
  private async split(
    tx: EntityManager,
    { userId, provider, amount }: { userId: number; provider: string; amount: bigint },
  ): Promise<Part[]> {
    const currency = this.config.CURRENCY;
    const payments = await tx.getRepository(Payment).find({
      where: { userId, provider, currency, status: 'paid' },
      order: { id: 'DESC' },
      lock: { mode: 'pessimistic_write' },
    });
    const paidBack = await paidBackOf(
      tx,
      payments.map(({ id }) => id),
    );
    const parts: Part[] = [];
    let rest = amount;
    for (const payment of payments) {
      const left = payment.amount - (paidBack.get(payment.id) ?? 0n);
      const part = left < rest ? left : rest;
      if (part > 0n) parts.push({ paymentId: payment.id, amount: part });
      rest -= part;
      if (rest === 0n || parts.length === PAYMENTS_PER_WITHDRAWAL_MAX) break;
    }
    if (rest > 0n)
      throw new Refusal('payout_limit', {
        detail: `The account has paid in ${formatAmount(micros(amount - rest))} ${currency} through ${provider} that can be paid back in one call (${PAYMENTS_PER_WITHDRAWAL_MAX} payments at the most); pay the rest out by hand`,
      });
    return parts;
  }

  private async insert(
    tx: EntityManager,
    parts: readonly Part[],
    of: Pick<Payout, 'userId' | 'provider' | 'transactionId'>,
  ): Promise<Payout[]> {
    const repository = tx.getRepository(Payout);
    const rows = await repository.save(
      parts.map((part) =>
        repository.create({
          ...of,
          ...part,
          currency: this.config.CURRENCY,
          status: 'pending',
          attempts: 0,
          retryAt: new Date(),
          providerReference: null,
          failure: null,
          settledAt: null,
        }),
      ),
    );
    return repository.findBy({ id: In(rows.map(({ id }) => id)) });
  }
}
