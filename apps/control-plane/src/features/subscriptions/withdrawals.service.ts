import { Inject, Injectable, Optional } from '@nestjs/common';
import { formatAmount } from '@tollgate/money';
import { DataSource, type EntityManager } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { AccountScope } from '../../platform/access/account-scope.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { uuidv7 } from '../../platform/http/visitor.ts';
import { Host } from '../../platform/host/host.ts';
import { Idempotency } from '../../platform/idempotency/idempotency.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import { bookedRefund } from '../wallet/read-ledger.sql.ts';
import { notSubscribed } from './find-active.ts';
import type { WithdrawalRef } from './read-subscriptions.sql.ts';
import { SubscriptionRow } from './subscription.entity.ts';
import type { Unsubscribe, UnsubscribeResponse } from './subscriptions.dto.ts';
import { bookedWithdrawal, markClosing, withdrawalReference } from './subscription-states.sql.ts';

/**
 * Closes subscriptions. This service only marks them and promises to run WITHDRAW in Redis. The tokens that WITHDRAW takes out of Redis are an event,
 * which the usage ingest books and refunds exactly once; tokens that running requests release follow in the same way.
 */
@Injectable()
export class WithdrawalsService {
  constructor(
    private readonly scope: AccountScope,
    private readonly idempotency: Idempotency,
    private readonly liveState: LiveStateService,
    private readonly activity: ActivityService,
    private readonly dataSource: DataSource,
    private readonly transactions: Transactions,
    @Inject(CONFIG) private readonly config: Config,
    @Optional() private readonly host: Host = new Host(),
  ) {}

  /** While Redis does not answer, `status` is `closing` and nothing is refunded yet; the refund follows automatically. */
  async unsubscribe(
    caller: Caller,
    body: Unsubscribe,
    options: { drain: boolean; idempotencyKey: string | undefined },
  ): Promise<UnsubscribeResponse> {
    const userId = await this.scope.resolve(caller, body.user_id);
    const request = {
      userId: caller.userId,
      route: 'POST /models/unsubscribe',
      key: options.idempotencyKey,
      body: { ...body, drain: options.drain },
      status: 200,
    };
    const withdrawal = await this.idempotency.run(request, async (tx) => {
      const row = await tx.getRepository(SubscriptionRow).findOne({
        where: { userId, modelId: body.model_id },
        lock: { mode: 'pessimistic_write' },
      });
      if (!row || row.status === 'closed') throw notSubscribed();
      if (row.status === 'closing' && row.withdrawalId !== null)
        return { id: row.withdrawalId, subscription_id: row.id };
      const id = this.idAfter(row.withdrawalId);
      await this.start(tx, [{ id, subscriptionId: row.id }], options.drain);
      this.activity.record(tx, caller, {
        action: 'subscription.close',
        target: { kind: 'subscription', id: row.id },
        after: { withdrawal_id: id, drain: options.drain },
      });
      return { id, subscription_id: row.id };
    });
    return this.outcome(body.model_id, withdrawal);
  }

  /** Closes every open subscription of a model or an account. Returns how many. */
  async closeAll(
    tx: EntityManager,
    which: { modelId: number } | { userId: number },
    drain: boolean,
  ): Promise<number> {
    const where =
      'modelId' in which
        ? { modelId: which.modelId, status: 'active' as const }
        : { userId: which.userId, status: 'active' as const };
    const rows = await tx
      .getRepository(SubscriptionRow)
      .find({ where, order: { id: 'ASC' }, lock: { mode: 'pessimistic_write' } });
    await this.start(
      tx,
      rows.map((row) => ({ id: this.idAfter(row.withdrawalId), subscriptionId: row.id })),
      drain,
    );
    return rows.length;
  }

  /** Withdraws the remaining tokens of a closed subscription. Returns false when it is no longer closed, or is empty. */
  payOut(subscriptionId: number): Promise<boolean> {
    return this.transactions.run(async (tx) => {
      const row = await tx.getRepository(SubscriptionRow).findOne({
        where: { id: subscriptionId, status: 'closed' },
        lock: { mode: 'pessimistic_write' },
      });
      if (!row || row.balance === 0) return false;
      const withdrawal = { id: this.idAfter(row.withdrawalId), subscriptionId };
      await this.start(tx, [withdrawal], row.drain);
      return true;
    });
  }

  /** Returns the tokens that an account has by the ledger, including closing subscriptions. */
  async tokensOf(tx: EntityManager, userId: number): Promise<number> {
    return (await tx.getRepository(SubscriptionRow).sum('balance', { userId })) ?? 0;
  }

  /** A withdrawal is an event, and the UUIDv7 of an event decides its partition. */
  private async start(
    tx: EntityManager,
    withdrawals: readonly WithdrawalRef[],
    drain: boolean,
  ): Promise<void> {
    const subscriptionIds = withdrawals.map((withdrawal) => withdrawal.subscriptionId);
    await markClosing(tx, withdrawals, drain);
    await this.liveState.withdrawalsStarted(tx, subscriptionIds);
  }

  /** Returns the result of this withdrawal, whatever the subscription's later state. */
  private async outcome(
    modelId: number,
    withdrawal: { id: string; subscription_id: number },
  ): Promise<UnsubscribeResponse> {
    const booked = await bookedWithdrawal(this.dataSource, {
      id: withdrawal.id,
      subscriptionId: withdrawal.subscription_id,
    });
    // The refund is booked in one transaction with the closing: a subscription that is closing here has none yet.
    const refund =
      booked.status === 'closed'
        ? await bookedRefund(this.dataSource, withdrawalReference(withdrawal.id))
        : 0n;
    return {
      model_id: modelId,
      status: booked.status,
      refunded_tokens: booked.tokens,
      refunded_amount: formatAmount(refund),
      currency: this.config.CURRENCY,
    };
  }

  /** Ids of a subscription's withdrawals rise whatever the clocks of the control planes show: by them Redis detects which ones it has lost. */
  private idAfter(previous: string | null): string {
    const previousMs =
      previous === null ? 0 : Number.parseInt(previous.slice(0, 8) + previous.slice(9, 13), 16);
    return uuidv7(Math.max(this.host.unixMs(), previousMs + 1), this.host.uuid());
  }
}
