import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { AccountScope } from '../../../platform/access/account-scope.ts';
import type { Caller } from '../../../platform/access/caller.ts';
import { toSafeInteger } from '../../../platform/database/columns.ts';
import { MySubscriptions } from '../../subscriptions/my-subscriptions.service.ts';
import type { BurnRate } from './burn-rate.dto.ts';

/** More than an account subscribes to. */
const SUBSCRIPTIONS_MAX = 100;
/** Beyond it a figure of days says nothing. */
const DAYS_SHOWN_MAX = 3_650;

const usedRow = z.object({
  model_id: z.number(),
  day: z.string().transform(toSafeInteger),
  week: z.string().transform(toSafeInteger),
});

/** Computes how quickly an account uses up its tokens, model by model. */
@Injectable()
export class BurnRateService {
  constructor(
    private readonly dataSource: DataSource,
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
    const used = await this.used(accountId);
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

  /** Counts by whole hours: the present one and the 23, or 167, before it. */
  private async used(userId: number): Promise<Map<number, z.output<typeof usedRow>>> {
    const rows: unknown[] = await this.dataSource.query(
      `SELECT model_id, coalesce(sum(charge) FILTER (WHERE hour > now() - interval '24 hours'), 0)::text AS day, sum(charge)::text AS week
       FROM usage_rollups WHERE user_id = $1 AND hour > now() - interval '7 days' GROUP BY model_id`,
      [userId],
    );
    return new Map(rows.map((row) => usedRow.parse(row)).map((row) => [row.model_id, row]));
  }
}

/** null: nothing is used, or it lasts longer than a plan reaches. */
function daysLeft(tokens: number, perDay: number): number | null {
  if (perDay <= 0) return null;
  const days = Math.max(0, tokens) / perDay;
  return days > DAYS_SHOWN_MAX ? null : Math.round(days * 10) / 10;
}
