import { Inject, Injectable } from '@nestjs/common';
import { formatAmount } from '@tollgate/money';
import { z } from 'zod';
import { CONFIG, type Config } from '../../../config.ts';
import { AccountScope } from '../../../platform/access/account-scope.ts';
import type { Caller } from '../../../platform/access/caller.ts';
import { periodOf } from './statistics-period.ts';
import type { UsageTop } from './usage-answers.ts';
import { UsageStore } from './usage-store.sql.ts';
import { TOP_MEASURES, type TopQuery } from './usage.dto.ts';

const sum = z.number().int();
const topRow = z.object({
  id: z.number().nullable(),
  name: z.string().nullable(),
  groups: z.number(),
  tokens: sum,
  requests: sum,
  errors: sum,
  charge: sum,
  spend: sum,
});
type TopRow = z.output<typeof topRow>;
type TopSums = Omit<TopRow, 'id' | 'name'>;

/** Answers which users, keys or models used the most. */
@Injectable()
export class UsageTopService {
  constructor(
    private readonly store: UsageStore,
    private readonly scope: AccountScope,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async read(caller: Caller, query: TopQuery): Promise<UsageTop> {
    const userId = await this.scope.resolveList(caller, query.user_id);
    const { from, to } = periodOf(query);
    const answered = await this.store.top({ ...query, from, to, userId });
    const rows = answered.map((row) => topRow.parse(row));
    const top = rows.filter(({ id }) => id !== null);
    const total = rows.find(({ id }) => id === null) ?? sumOf([]);
    return {
      from: from.toISOString(),
      to: to.toISOString(),
      interval: query.interval,
      group_by: query.group_by,
      by: query.by,
      currency: this.config.CURRENCY,
      data: top.map((row) => ({ id: row.id as number, name: row.name, ...answerOf(row) })),
      other: withGroups(restOf(total, sumOf(top))),
      total: withGroups(total),
    };
  }
}

function sumOf(rows: readonly TopRow[]): TopSums {
  const add = (name: keyof TopSums): number => rows.reduce((whole, row) => whole + row[name], 0);
  return {
    groups: rows.length,
    tokens: add('tokens'),
    requests: add('requests'),
    errors: add('errors'),
    charge: add('charge'),
    spend: add('spend'),
  };
}

function restOf(total: TopSums, shown: TopSums): TopSums {
  const rest = { ...total };
  for (const name of ['groups', ...TOP_MEASURES] as const) rest[name] = total[name] - shown[name];
  return rest;
}

function withGroups(sums: TopSums): UsageTop['total'] {
  return { groups: sums.groups, ...answerOf(sums) };
}

function answerOf({ requests, errors, tokens, charge, spend }: TopSums) {
  return { requests, errors, tokens, charge, spend: formatAmount(BigInt(spend)) };
}
