import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { formatAmount, type Micros } from '@tollgate/money';
import { In, Repository, type EntityManager } from 'typeorm';
import { CONFIG, type Config } from '../../config.ts';
import { AccountScope } from '../../platform/access/account-scope.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { Transactions, afterCommit } from '../../platform/database/transactions.ts';
import { readPage, type Page } from '../../platform/http/list-query.ts';
import { noSuch, Refusal } from '../../platform/http/refusal.ts';
import { Idempotency } from '../../platform/idempotency/idempotency.ts';
import { ActivityService } from '../activity/activity.service.ts';
import { LiveBalances, type LiveBalance } from '../live-state/live-balances.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import { ModelsService } from '../models/models.service.ts';
import { AutoRechargeService } from './auto-recharge.service.ts';
import { notSubscribed } from './not-subscribed.ts';
import { PurchasesService } from './purchases.service.ts';
import { SubscriptionRow } from './subscription.entity.ts';
import type {
  AutoRechargeResponse,
  MyModelResponse,
  MyModels,
  PurchaseResponse,
  Renew,
  SetAutoRecharge,
  Subscribe,
  SubscriptionResponse,
} from './subscriptions.dto.ts';
import { TokenLedger } from './token-ledger.service.ts';

@Injectable()
export class SubscriptionsService {
  constructor(
    @InjectRepository(SubscriptionRow) private readonly subscriptions: Repository<SubscriptionRow>,
    private readonly scope: AccountScope,
    private readonly idempotency: Idempotency,
    private readonly transactions: Transactions,
    private readonly models: ModelsService,
    private readonly purchases: PurchasesService,
    private readonly tokens: TokenLedger,
    private readonly autoRecharge: AutoRechargeService,
    private readonly liveState: LiveStateService,
    private readonly liveBalances: LiveBalances,
    private readonly activity: ActivityService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async my(caller: Caller, query: MyModels): Promise<Page<MyModelResponse>> {
    const userId = await this.scope.resolve(caller, query.user_id);
    const builder = this.subscriptions
      .createQueryBuilder('subscription')
      .where("subscription.userId = :userId AND subscription.status <> 'closed'", { userId });
    const columns = {
      id: 'subscription.id',
      model_id: 'subscription.modelId',
      created_at: 'subscription.createdAt',
    };
    const page = await readPage(builder, query, { columns, map: (row) => row });
    const modelIds = page.data.map((row) => row.modelId);
    const [names, live] = await Promise.all([
      this.models.namesOf(modelIds),
      this.liveBalances.read(userId, modelIds),
    ]);
    return {
      ...page,
      data: page.data.map((row) =>
        toMyModelResponse(row, names.get(row.modelId), live?.get(row.modelId)),
      ),
    };
  }

  /** Of an open subscription: live, or by the ledger while Redis does not answer. Undefined without one. */
  async tokensOf(userId: number, modelId: number): Promise<number | undefined> {
    const row = await this.subscriptions.findOneBy({ userId, modelId, status: In(['active']) });
    if (!row) return undefined;
    const live = (await this.liveBalances.read(userId, [modelId]))?.get(modelId);
    return live?.balance ?? row.balance - row.overdraft;
  }

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
        (await this.findActive(tx, userId, body.model_id)).id,
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

  async setAutoRecharge(caller: Caller, body: SetAutoRecharge): Promise<AutoRechargeResponse> {
    const userId = await this.scope.resolve(caller, body.user_id);
    return this.transactions.run(async (tx) => {
      const before = await this.findActive(tx, userId, body.model_id, 'pessimistic_write');
      // A new setting is a new chance: a wallet that was too small before is looked at again at once.
      const columns = {
        autoRechargeThreshold: body.threshold,
        autoRechargeAmount: body.amount,
        autoRechargeRetryAt: null,
        autoRechargeFailures: 0,
        revision: before.revision + 1,
      };
      const after = await tx.getRepository(SubscriptionRow).save({ ...before, ...columns });
      await this.liveState.subscriptionChanged(tx, after.id);
      this.reconsider(tx, after.id);
      const model = (await this.models.namesOf([after.modelId])).get(after.modelId)?.name ?? '';
      const target = { kind: 'subscription', id: after.id };
      this.activity.record(tx, caller, {
        action: 'subscription.auto_recharge',
        target,
        before: toResponse(before, model),
        after: toResponse(after, model),
      });
      return {
        ...toResponse(after, model),
        threshold: after.autoRechargeThreshold,
        amount: after.autoRechargeAmount,
      };
    });
  }

  /** Creates the subscription or opens a closed one again under the next generation. Parallel calls queue on the row; one wins. */
  private async open(tx: EntityManager, userId: number, body: Subscribe): Promise<number> {
    const rows: { id: number }[] = await tx.query(
      `INSERT INTO subscriptions (user_id, model_id, auto_recharge_threshold, auto_recharge_amount) VALUES ($1, $2, $3, $4)
       ON CONFLICT (user_id, model_id) DO UPDATE SET status = 'active', generation = subscriptions.generation + 1, revision = subscriptions.revision + 1,
         closed_at = NULL, drain = false, auto_recharge_threshold = excluded.auto_recharge_threshold, auto_recharge_amount = excluded.auto_recharge_amount,
         auto_recharge_retry_at = NULL, auto_recharge_failures = 0, updated_at = now()
       WHERE subscriptions.status = 'closed'
       RETURNING id`,
      [
        userId,
        body.model_id,
        body.auto_recharge_threshold ?? null,
        body.auto_recharge_amount ?? null,
      ],
    );
    if (rows[0]) return rows[0].id;
    const present = await tx
      .getRepository(SubscriptionRow)
      .findOneByOrFail({ userId, modelId: body.model_id });
    throw new Refusal(present.status === 'closing' ? 'subscription_closing' : 'already_subscribed');
  }

  private lockModel(tx: EntityManager, id: number) {
    return this.models.lock(tx, id, { mode: 'pessimistic_read', field: 'model_id' });
  }

  private async findActive(
    tx: EntityManager,
    userId: number,
    modelId: number,
    lock?: 'pessimistic_write',
  ): Promise<SubscriptionRow> {
    const where = { userId, modelId, status: In(['active']) };
    const row = await tx
      .getRepository(SubscriptionRow)
      .findOne({ where, ...(lock && { lock: { mode: lock } }) });
    if (!row) throw notSubscribed();
    return row;
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
      ...toResponse(row, done.model),
      cost: formatAmount(done.cost),
      currency: this.config.CURRENCY,
    };
    this.activity.record(tx, caller, {
      action: done.action,
      target: { kind: 'subscription', id: done.id },
      after: answer,
    });
    return answer;
  }
}

function toResponse(row: SubscriptionRow, model: string): SubscriptionResponse {
  return {
    id: row.id,
    user_id: row.userId,
    model_id: row.modelId,
    model,
    status: row.status,
    tokens: row.balance,
    auto_recharge_threshold: row.autoRechargeThreshold,
    auto_recharge_amount: row.autoRechargeAmount,
    created_at: row.createdAt.toISOString(),
  };
}

/** Live tokens from Redis; while it does not answer, the ledger's own balance with the moment it was last written. */
function toMyModelResponse(
  row: SubscriptionRow,
  model: { name: string; isOnShelf: boolean } | undefined,
  live: LiveBalance | undefined,
): MyModelResponse {
  return {
    ...toResponse(row, model?.name ?? ''),
    is_on_shelf: model?.isOnShelf ?? false,
    tokens: live ? live.balance : row.balance - row.overdraft,
    held: live ? live.held : null,
    as_of: live ? null : row.updatedAt.toISOString(),
  };
}
