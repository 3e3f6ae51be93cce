import { Injectable } from '@nestjs/common';
import { AccountScope } from '../../../platform/access/account-scope.ts';
import type { Caller } from '../../../platform/access/caller.ts';
import { MySubscriptions } from '../../subscriptions/my-subscriptions.service.ts';
import type { BurnRate } from './burn-rate.dto.ts';
import { UsageStore } from './usage-store.sql.ts';

/** Is more than the subscriptions of an account. */
const SUBSCRIPTIONS_MAX = 100;
/** A longer time has no practical meaning. */
const DAYS_SHOWN_MAX = 3_650;

/** Computes how quickly an account uses its tokens, by model. */
@Injectable()
export class BurnRateService {
  constructor(
    private readonly store: UsageStore,
    private readonly scope: AccountScope,
    private readonly subscriptions: MySubscriptions,
  ) {}

  async read(caller: Caller, userId?: number): Promise<{ data: BurnRate[] }> {
    const accountId = await this.scope.resolve(caller, userId);
    const { data } = await this.subscriptions.my(caller, {
      user_id: accountId,
      page: 1,
      page_size: SUBSCRIPTIONS_MAX,
      sort: 'id',
    });
    const used = await this.store.used(accountId);
    return {
      data: data.map(({ model_id, model, tokens }) => {
        const { day = 0, week = 0 } = used.get(model_id) ?? {};
        return {
          model_id,
          model,
          tokens,
          used_last_day: day,
          used_last_week: week,
          days_left: daysLeft(tokens, day),
          days_left_at_week_pace: daysLeft(tokens, week / 7),
        };
      }),
    };
  }
}

/** Returns null when nothing is used, or the tokens last longer than DAYS_SHOWN_MAX. */
function daysLeft(tokens: number, perDay: number): number | null {
  if (perDay <= 0) return null;
  const days = Math.max(0, tokens) / perDay;
  return days > DAYS_SHOWN_MAX ? null : Math.round(days * 10) / 10;
}
