import { Injectable } from '@nestjs/common';
import { AccountScope } from '../../../platform/access/account-scope.ts';
import type { Caller } from '../../../platform/access/caller.ts';
import { afterCommit, Transactions } from '../../../platform/database/transactions.ts';
import { ActivityService } from '../../activity/activity.service.ts';
import { LiveStateService } from '../../live-state/live-state.service.ts';
import { ModelsService } from '../../models/models.service.ts';
import { AutoRechargeService } from './auto-recharge.service.ts';
import { findActive } from '../find-active.ts';
import { SubscriptionRow } from '../subscription.entity.ts';
import { toSubscriptionResponse } from '../subscription-response.ts';
import type { AutoRechargeResponse, SetAutoRecharge } from '../subscriptions.dto.ts';

/** Sets when a subscription buys tokens automatically, and how many. */
@Injectable()
export class AutoRechargeSettings {
  constructor(
    private readonly scope: AccountScope,
    private readonly transactions: Transactions,
    private readonly models: ModelsService,
    private readonly autoRecharge: AutoRechargeService,
    private readonly liveState: LiveStateService,
    private readonly activity: ActivityService,
  ) {}

  async set(caller: Caller, body: SetAutoRecharge): Promise<AutoRechargeResponse> {
    const userId = await this.scope.resolve(caller, body.user_id);
    return this.transactions.run(async (tx) => {
      const before = await findActive(tx, { userId, modelId: body.model_id }, 'pessimistic_write');
      // A new setting resets the refusals: a wallet that was too small before is checked again at once.
      const columns = {
        autoRechargeThreshold: body.threshold,
        autoRechargeAmount: body.amount,
        autoRechargeRetryAt: null,
        autoRechargeFailures: 0,
        revision: before.revision + 1,
      };
      const after = await tx.getRepository(SubscriptionRow).save({ ...before, ...columns });
      await this.liveState.subscriptionChanged(tx, after.id);
      afterCommit(tx, async () => this.autoRecharge.consider([after.id]));
      const names = await this.models.namesOf([after.modelId], tx);
      const model = names.get(after.modelId)?.name ?? '';
      const target = { kind: 'subscription', id: after.id };
      this.activity.record(tx, caller, {
        action: 'subscription.auto_recharge',
        target,
        before: toSubscriptionResponse(before, model),
        after: toSubscriptionResponse(after, model),
      });
      return {
        ...toSubscriptionResponse(after, model),
        threshold: after.autoRechargeThreshold,
        amount: after.autoRechargeAmount,
      };
    });
  }
}
