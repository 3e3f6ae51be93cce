import type { RedisConnection } from '../functions/function-library.ts';
import { keys, shardOf } from '../keys.ts';

/** Holds the counts of a budget in one period in Redis, in the budget's unit. */
export interface LiveBudget {
  budgetId: number;
  period: number;
  used: number;
  held: number;
}

const PERIOD_NAME = /^(\d+):(\d+)$/;
const PERIOD_COUNTS = /^(-?\d+),(-?\d+)$/;

/** The counters of an account's budgets, by budget and period: `<budget>:<period>` each. The functions change them; this reads, fills and forgets them. */
export class LiveBudgets {
  readonly #redis: RedisConnection;
  readonly #shards: number;

  constructor({ redis, shards }: { redis: RedisConnection; shards: number }) {
    this.#redis = redis;
    this.#shards = shards;
  }

  /** Fields that other programs wrote are left out. */
  async read(accountId: number): Promise<LiveBudget[]> {
    const found = await this.#redis.hgetall(this.#key(accountId));
    return Object.entries(found).flatMap(([name, counts]) => {
      const [, budgetId, period] = PERIOD_NAME.exec(name) ?? [];
      const [, used, held] = PERIOD_COUNTS.exec(counts) ?? [];
      if (budgetId === undefined || held === undefined) return [];
      const [id, start] = [Number(budgetId), Number(period)];
      return [{ budgetId: id, period: start, used: Number(used), held: Number(held) }];
    });
  }

  /** Lets Redis count from what the ledger has used, where it counts nothing yet. */
  async fill(
    accountId: number,
    used: Readonly<Record<string, number>>,
  ): Promise<{ kind: 'applied' }> {
    for (const [name, units] of Object.entries(used))
      await this.#redis.hsetnx(this.#key(accountId), name, `${units},0`);
    return { kind: 'applied' };
  }

  /** Forgets all of an account. */
  async discard(accountId: number): Promise<{ kind: 'applied' }> {
    await this.#redis.del(this.#key(accountId));
    return { kind: 'applied' };
  }

  async forget(accountId: number, names: readonly string[]): Promise<void> {
    if (names.length > 0) await this.#redis.hdel(this.#key(accountId), ...names);
  }

  #key(accountId: number): string {
    return keys.budgets(shardOf(accountId, this.#shards), accountId);
  }
}

/** Values of a live record whose last one is `bud`; releases before budgets wrote none. */
export function withBudgets(values: readonly (string | null)[]): (string | null)[] {
  return [...values.slice(0, -1), values.at(-1) ?? ''];
}
