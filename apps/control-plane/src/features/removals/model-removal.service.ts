import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/caller.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { Refusal } from '../../platform/http/refusal.ts';
import { ModelsService } from '../models/models.service.ts';
import { RoutingService } from '../routing/routing.service.ts';
import { WithdrawalsService } from '../subscriptions/withdrawals.service.ts';

/** Deletes a model and refunds its subscribers; without the refund it refuses. */
@Injectable()
export class ModelRemoval {
  constructor(
    private readonly transactions: Transactions,
    private readonly models: ModelsService,
    private readonly withdrawals: WithdrawalsService,
    private readonly routing: RoutingService,
  ) {}

  /** Removes a model. Throws model_has_subscribers unless `refund` is set. Refunds that take longer than the answer follow automatically. */
  async remove(caller: Caller, id: number, { refund }: { refund: boolean }): Promise<void> {
    await this.transactions.run(async (tx) => {
      const model = await this.models.lock(tx, id, { mode: 'pessimistic_write' });
      const closed = await this.withdrawals.closeAll(tx, { modelId: id }, false);
      if (closed > 0 && !refund)
        throw new Refusal('model_has_subscribers', {
          detail: `${closed === 1 ? '1 account is' : `${closed} accounts are`} subscribed; ?refund=true closes and refunds`,
        });
      await this.routing.deleteOfModel(tx, id);
      await this.models.markDeleted(tx, caller, model);
    });
  }
}
