import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AccountScope } from '../../platform/access/account-scope.ts';
import type { Caller } from '../../platform/access/caller.ts';
import { invalidField, noSuch } from '../../platform/http/refusal.ts';
import { AMOUNT_RANGE, readAmount, writeAmount } from '../budgets/budgets.dto.ts';
import { dayBefore } from '../budgets/calendar.ts';
import { keyOfBudgets, rotationsOf } from '../live-state/live-rows.sql.ts';
import { modelsNamed } from '../models/named-models.sql.ts';
import { UsageStore } from '../usage/api/usage-store.sql.ts';
import type { BudgetPreview, BudgetQuery } from './previews.dto.ts';

/** Shows how far yesterday's requests would have used up a budget. */
@Injectable()
export class BudgetPreviews {
  constructor(
    private readonly dataSource: DataSource,
    private readonly scope: AccountScope,
    private readonly usage: UsageStore,
  ) {}

  async budget(caller: Caller, query: BudgetQuery): Promise<BudgetPreview> {
    const amount = readAmount(query.unit, query.amount);
    if (amount === undefined) throw invalidField('amount', AMOUNT_RANGE);
    const { fromMs, toMs } = dayBefore(query.time_zone, Date.now());
    const [from, to] = [new Date(fromMs), new Date(toMs)];
    const found = await this.usage.budgeted({
      ...(await this.ownerOf(caller, query)),
      ...(await modelsNamed(this.dataSource, query.models)),
      ...{ unit: query.unit, amount, from, to, windowMinutes: query.window_minutes ?? null },
    });
    const written = (units: number): string => writeAmount(query.unit, units);
    return {
      from: from.toISOString(),
      to: to.toISOString(),
      requests: found.requests,
      used: written(found.used),
      most: written(found.most),
      amount: written(amount),
      refused: found.refused,
    };
  }

  private async ownerOf(
    caller: Caller,
    { user_id, key_id }: BudgetQuery,
  ): Promise<{ userId: number; keyIds: number[] | null }> {
    if (key_id === undefined)
      return { userId: await this.scope.resolve(caller, user_id), keyIds: null };
    const key = await keyOfBudgets(this.dataSource, key_id);
    if (!key || !this.scope.isReachable(caller, key.userId)) throw noSuch('key', key_id, 'key_id');
    return { userId: key.userId, keyIds: await rotationsOf(this.dataSource, key.id) };
  }
}
