import type { RedisConnection } from '../functions/function-library.ts';
import { keys, shardOf } from '../keys.ts';
import { SCOPE_KINDS } from '../scope-value.ts';

/** Holds the counts of a budget in one period in Redis, in the budget's unit. */
export interface LiveBudget {
  budgetId: number;
  period: number;
  used: number;
  held: number;
}

/** Says what the ledger has used of a budget in one period, for one value or ('') all requests together. */
export interface UsedBudget {
  /** Is `<budget>:<period>`. */
  name: string;
  value: string;
  used: number;
  /** Is the Unix second at which the period ends; 0 where it has no end. */
  ends: number;
}

/** Both times equal those of `budget-values.lua`. */
const VALUE_KEPT_MS = 2 * 86_400_000;
const VALUES_KEPT_MS = 94 * 86_400_000;
const SCANNED = 500;
const PERIOD_NAME = /^(\d+):(\d+)$/;
const PERIOD_COUNTS = /^(-?\d+),(-?\d+)$/;

/** Keeps the counters of an account's budgets, by budget and period: `<budget>:<period>` each. The functions change them; this class reads, fills and forgets them. */
export class LiveBudgets {
  readonly #redis: RedisConnection;
  readonly #shards: number;

  constructor({ redis, shards }: { redis: RedisConnection; shards: number }) {
    this.#redis = redis;
    this.#shards = shards;
  }

  /** Reads the counts of one value, or ('') of the budgets without values. Fields that other programs wrote are omitted. */
  async read(accountId: number, value = ''): Promise<LiveBudget[]> {
    const found = await this.#redis.hgetall(this.#place(accountId, value));
    return Object.entries(found).flatMap(([name, counts]) => {
      const [, budgetId, period] = PERIOD_NAME.exec(name) ?? [];
      const [, used, held] = PERIOD_COUNTS.exec(counts) ?? [];
      if (budgetId === undefined || held === undefined) return [];
      const [id, start] = [Number(budgetId), Number(period)];
      return [{ budgetId: id, period: start, used: Number(used), held: Number(held) }];
    });
  }

  /** Lets Redis count from what the ledger has used, where it counts nothing yet. A value is kept for as long as the functions keep it. */
  async fill(accountId: number, used: readonly UsedBudget[]): Promise<{ kind: 'applied' }> {
    const calls = this.#redis.pipeline();
    for (const { name, value, used: units, ends } of used) {
      const place = this.#place(accountId, value);
      calls.hsetnx(place, name, `${units},0`);
      if (value === '') continue;
      const till = (ends === 0 ? Date.now() : ends * 1_000) + VALUE_KEPT_MS;
      calls.zadd(this.#values(accountId, value), 'GT', till, value);
      calls.pexpire(this.#values(accountId, value), VALUES_KEPT_MS);
      calls.pexpire(place, till - Date.now());
    }
    for (const [error] of (await calls.exec()) ?? []) if (error) throw error;
    return { kind: 'applied' };
  }

  /** Forgets all budgets of an account. */
  async discard(accountId: number): Promise<{ kind: 'applied' }> {
    const lists = Object.values(SCOPE_KINDS).map((kind) => this.#values(accountId, kind));
    for (const list of lists) {
      const values = await this.#redis.zrangebyscore(list, '-inf', '+inf');
      if (values.length > 0)
        await this.#redis.del(...values.map((value) => this.#place(accountId, value)));
    }
    await this.#redis.del(this.#place(accountId, ''), ...lists);
    return { kind: 'applied' };
  }

  async forget(accountId: number, names: readonly string[]): Promise<void> {
    if (names.length > 0) await this.#redis.hdel(this.#place(accountId, ''), ...names);
  }

  /** Forgets the periods of a budget that began before that second. */
  async forgetBefore(accountId: number, budgetId: number, second: number): Promise<void> {
    const place = this.#place(accountId, '');
    let cursor = '0';
    do {
      const [next, found] = await this.#redis.hscan(
        place,
        cursor,
        'MATCH',
        `${budgetId}:*`,
        'COUNT',
        SCANNED,
      );
      const names = found.filter((name) => Number(PERIOD_NAME.exec(name)?.[2] ?? second) < second);
      await this.forget(accountId, names);
      cursor = next;
    } while (cursor !== '0');
  }

  #place(accountId: number, value: string): string {
    const shard = shardOf(accountId, this.#shards);
    return value === ''
      ? keys.budgets(shard, accountId)
      : keys.budgetsOfValue(shard, accountId, value);
  }

  #values(accountId: number, value: string): string {
    return keys.budgetValues(shardOf(accountId, this.#shards), accountId, value.slice(0, 1));
  }
}

/** Values of a live record whose last one is `bud`; releases before budgets wrote none. */
export function withBudgets(values: readonly (string | null)[]): (string | null)[] {
  return [...values.slice(0, -1), values.at(-1) ?? ''];
}
