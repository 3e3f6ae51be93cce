import { Injectable } from '@nestjs/common';
import { formatAmount, type Micros } from '@tollgate/money';
import type { EntityManager } from 'typeorm';
import { AccountScope } from '../../platform/access/account-scope.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { afterCommit } from '../../platform/database/transactions.ts';
import { noSuch, Refusal } from '../../platform/http/refusal.ts';
import { Idempotency } from '../../platform/idempotency/idempotency.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import { ModelsService } from '../models/models.service.ts';
import { AutoRechargeService } from './auto-recharge/auto-recharge.service.ts';
import { findActive, notSubscribed } from './find-active.ts';
import { openSubscription } from './subscription-states.sql.ts';
import { PurchasesService } from './purchases.service.ts';
import { SubscriptionRow } from './subscription.entity.ts';
import { toSubscriptionResponse } from './subscription-response.ts';
import type { PurchaseResponse, Renew, Subscribe } from './subscriptions.dto.ts';
import { TokenLedger } from './token-ledger.service.ts';

/** Opens subscriptions and buys tokens for them. */
@Injectable()
export class SubscriptionsService {
  constructor(
    private readonly scope: AccountScope,
    private readonly idempotency: Idempotency,
    private readonly models: ModelsService,
    private readonly purchases: PurchasesService,
    private readonly tokens: TokenLedger,
    private readonly autoRecharge: AutoRechargeService,
    private readonly liveState: LiveStateService,
    private readonly activity: ActivityService,
  ) {}

  async subscribe(
    caller: Caller,
    body: Subscribe,
    idempotencyKey: string | undefined,
  ): Promise<PurchaseResponse> {
    const userId = await this.scope.resolve(caller, body.user_id);
    const request = {
      userId: caller.userId,
      route: 'POST /models/subscribe',
      key: idempotencyKey,
      body,
      status: 201,
    };
    return this.idempotency.run(request, async (tx) => {
      const model = await this.lockModel(tx, body.model_id);
      if (!model.isOnShelf) throw noSuch('model', body.model_id, 'model_id');
      const id = await this.open(tx, userId, body);
      const cost = await this.purchases.buy(tx, await this.tokens.lockOne(tx, id), {
        tokens: body.tokens,
        kind: 'subscribe',
        actorUserId: caller.userId,
      });
      await this.liveState.subscriptionChanged(tx, id);
      this.reconsider(tx, id);
      return this.answer(tx, caller, { id, action: 'subscription.open', model: model.name, cost });
    });
  }

  async renew(
    caller: Caller,
    body: Renew,
    idempotencyKey: string | undefined,
  ): Promise<PurchaseResponse> {
    const userId = await this.scope.resolve(caller, body.user_id);
    const request = {
      userId: caller.userId,
      route: 'POST /models/renew',
      key: idempotencyKey,
      body,
      status: 200,
    };
    return this.idempotency.run(request, async (tx) => {
      const model = await this.lockModel(tx, body.model_id);
      const subscription = await this.tokens.lockOne(
        tx,
        (await findActive(tx, { userId, modelId: body.model_id })).id,
      );
      if (subscription.status !== 'active') throw notSubscribed();
      if (!model.isOnShelf) throw new Refusal('model_off_shelf');
      const cost = await this.purchases.buy(tx, subscription, {
        tokens: body.tokens,
        kind: 'renew',
        actorUserId: caller.userId,
      });
      this.reconsider(tx, subscription.id);
      return this.answer(tx, caller, {
        id: subscription.id,
        action: 'subscription.renew',
        model: model.name,
        cost,
      });
    });
  }

  /** Opens the subscription and returns its id. Throws already_subscribed, or subscription_closing. */
  private async open(tx: EntityManager, userId: number, body: Subscribe): Promise<number> {
    const opened = await openSubscription(tx, userId, body);
    if (opened !== null) return opened;
    const present = await tx
      .getRepository(SubscriptionRow)
      .findOneByOrFail({ userId, modelId: body.model_id });
    throw new Refusal(present.status === 'closing' ? 'subscription_closing' : 'already_subscribed');
  }

  private lockModel(tx: EntityManager, id: number) {
    return this.models.lock(tx, id, { mode: 'pessimistic_read', field: 'model_id' });
  }

  private reconsider(tx: EntityManager, subscriptionId: number): void {
    afterCommit(tx, async () => this.autoRecharge.consider([subscriptionId]));
  }

  private async answer(
    tx: EntityManager,
    caller: Caller,
    done: { id: number; action: string; model: string; cost: Micros },
  ): Promise<PurchaseResponse> {
    const row = await tx.getRepository(SubscriptionRow).findOneByOrFail({ id: done.id });
    const answer = {
      ...toSubscriptionResponse(row, done.model),
      cost: formatAmount(done.cost),
      currency: this.purchases.currency,
    };
    this.activity.record(tx, caller, {
      action: done.action,
      target: { kind: 'subscription', id: done.id },
      after: answer,
    });
    return answer;
  }
}
