import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, Repository } from 'typeorm';
import { AccountScope } from '../../platform/access/account-scope.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { readPage, type Page } from '../../platform/http/list-query.ts';
import { LiveBalances, type LiveBalance } from '../live-state/live-balances.ts';
import { ModelsService } from '../models/models.service.ts';
import { SubscriptionRow } from './subscription.entity.ts';
import { toSubscriptionResponse } from './subscription-response.ts';
import type { MyModelResponse, MyModels } from './subscriptions.dto.ts';

/** Lists an account's subscriptions, with live balances. */
@Injectable()
export class MySubscriptions {
  constructor(
    @InjectRepository(SubscriptionRow) private readonly subscriptions: Repository<SubscriptionRow>,
    private readonly scope: AccountScope,
    private readonly models: ModelsService,
    private readonly liveBalances: LiveBalances,
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

  /**
   * Returns the balance of an open subscription: the live one, or the ledger's while Redis does not answer. Returns undefined when there is no
   * subscription.
   */
  async tokensOf(userId: number, modelId: number): Promise<number | undefined> {
    const row = await this.subscriptions.findOneBy({ userId, modelId, status: In(['active']) });
    if (!row) return undefined;
    const live = (await this.liveBalances.read(userId, [modelId]))?.get(modelId);
    return live?.balance ?? row.balance - row.overdraft;
  }
}

/** Takes live tokens from Redis; while Redis does not answer, the ledger's balance with the time of its last write. */
function toMyModelResponse(
  row: SubscriptionRow,
  model: { name: string; isOnShelf: boolean } | undefined,
  live: LiveBalance | undefined,
): MyModelResponse {
  const byLedger = toSubscriptionResponse(row, model?.name ?? '');
  return {
    ...byLedger,
    is_on_shelf: model?.isOnShelf ?? false,
    tokens: live ? live.balance : byLedger.tokens,
    held: live ? live.held : null,
    as_of: live ? null : row.updatedAt.toISOString(),
  };
}
