import type { EpochCache } from '../epochs.ts';
import type { FunctionLibrary } from '../functions/function-library.ts';
import { identifier, keys, natural, shardNames, shardOf } from '../keys.ts';
import { ReplyReader } from '../connection/reply-reader.ts';
import type { SubscriptionRef } from './subscription-balance.ts';

/** Holds Redis' own count of a subscription's holds, and the sum of its open holds. Both are in charged tokens. */
export interface Recounted extends SubscriptionRef {
  before: string;
  held: number;
}

/** Compares the held amount of a budget in Redis with the claims of the open holds, for one period. */
export interface RecountedBudget {
  accountId: number;
  budgetId: number;
  before: number;
  held: number;
}

/** Lists the corrections. */
export interface Recounts {
  subscriptions: Recounted[];
  budgets: RecountedBudget[];
}

export interface LiveCountsParts {
  library: FunctionLibrary;
  epochs: EpochCache;
  shards: number;
}

/** Corrects what Redis counts beside a balance: tokens held, requests running, credits applied. Only another than the functions makes them wrong. */
export class LiveCounts {
  readonly #library: FunctionLibrary;
  readonly #epochs: EpochCache;
  readonly #shards: number;

  constructor({ library, epochs, shards }: LiveCountsParts) {
    this.#library = library;
    this.#epochs = epochs;
    this.#shards = natural(shards, 'shards');
  }

  /**
   * Counts what these subscriptions hold, and what all others in their shards do that run requests. Answers those that were wrong.
   * It makes one call a shard, which reads each of its open holds. A fenced shard is left as it is.
   */
  async recountHolds(subscriptions: readonly SubscriptionRef[]): Promise<Recounts> {
    const byShard = Map.groupBy(subscriptions, ({ accountId }) => shardOf(accountId, this.#shards));
    return this.#recountEach([...byShard]);
  }

  /** Does the same as `recountHolds`, for all subscriptions that run requests. */
  async recountAllHolds(): Promise<Recounts> {
    return this.#recountEach(shardNames(this.#shards).map((shard) => [shard, []]));
  }

  /** Raises what is used of a budget to what is booked of it. Answers what was counted before; null where that was enough, or the shard is fenced. */
  async raiseBudget({
    accountId,
    name,
    value,
    used,
  }: {
    accountId: number;
    /** Is `<budget>:<period>`. */
    name: string;
    /** Names a session or an end user; '' where the budget counts all requests together. */
    value: string;
    used: number;
  }): Promise<number | null> {
    const shard = shardOf(accountId, this.#shards);
    const functionKeys = [keys.epoch(shard), keys.budgets(shard, accountId)];
    const args = [name, natural(used, 'used'), value];
    const reply = await this.#epochs.refreshingOnce(shard, async (epoch) => {
      const raw = await this.#library.call('raise_budget', functionKeys, [epoch, ...args]);
      const reader = new ReplyReader(raw);
      const word = reader.oneOf('OK', 'ENOUGH', 'FENCED');
      if (word === 'FENCED') return { kind: 'fenced' as const };
      return { kind: 'compared' as const, before: word === 'OK' ? reader.integer() : null };
    });
    return reply.kind === 'compared' ? reply.before : null;
  }

  /** One shard whose holds cannot be read keeps no other from being counted. It throws only when no shard could be counted. */
  async #recountEach(
    shards: readonly (readonly [string, readonly SubscriptionRef[]])[],
  ): Promise<Recounts> {
    const counted = await settledInTurn(shards, ([shard, refs]) => this.#recount(shard, refs));
    const failed = counted.find((each) => each.status === 'rejected');
    if (failed && counted.every(({ status }) => status === 'rejected')) throw failed.reason;
    const found = counted.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    return {
      subscriptions: found.flatMap(({ subscriptions }) => subscriptions),
      budgets: found.flatMap(({ budgets }) => budgets),
    };
  }

  /** Returns false when the record is not as it was found any more, or the shard is fenced. `seq` is that of the last credit that PostgreSQL has given. */
  async resetCredits({
    accountId,
    modelId,
    id,
    foundSeq,
    seq,
  }: SubscriptionRef & { id: number; foundSeq: number; seq: number }): Promise<boolean> {
    const shard = shardOf(accountId, this.#shards);
    const functionKeys = [keys.epoch(shard), keys.subscription(shard, accountId, modelId)];
    const args = [identifier(id, 'subscription id'), foundSeq, natural(seq, 'credit seq')];
    const reply = await this.#epochs.refreshingOnce(shard, async (epoch) => {
      const raw = await this.#library.call('reset_credits', functionKeys, [epoch, ...args]);
      return { kind: RESET_REPLIES[new ReplyReader(raw).oneOf('OK', 'CHANGED', 'FENCED')] };
    });
    return reply.kind === 'reset';
  }

  /** Lets a balance be spent that agrees with the ledger, if it is still what was compared. */
  async vouch(mark: SubscriptionRef & { id: number; balance: number }): Promise<void> {
    const shard = shardOf(mark.accountId, this.#shards);
    const functionKeys = [
      keys.epoch(shard),
      keys.subscription(shard, mark.accountId, mark.modelId),
    ];
    await this.#epochs.refreshingOnce(shard, async (epoch) => {
      const raw = await this.#library.call('vouch', functionKeys, [epoch, mark.id, mark.balance]);
      return { kind: RESET_REPLIES[new ReplyReader(raw).oneOf('OK', 'CHANGED', 'FENCED')] };
    });
  }

  async #recount(shard: string, refs: readonly SubscriptionRef[]): Promise<Recounts> {
    const prefixes = [
      keys.holdPrefix(shard),
      keys.subscriptionPrefix(shard),
      keys.budgetsPrefix(shard),
    ];
    const names = refs.map(({ accountId, modelId }) => keys.subscriptionName(accountId, modelId));
    const reply = await this.#epochs.refreshingOnce(shard, async (epoch) => {
      const reader = new ReplyReader(
        await this.#library.call(
          'recount',
          [keys.epoch(shard), keys.holds(shard)],
          [epoch, ...prefixes, ...names],
        ),
      );
      if (reader.oneOf('OK', 'FENCED') === 'FENCED') return { kind: 'fenced' as const };
      return {
        kind: 'counted' as const,
        subscriptions: reader.list().all(readRecounted),
        budgets: reader.list().all(readRecountedBudget),
      };
    });
    return reply.kind === 'counted' ? reply : { subscriptions: [], budgets: [] };
  }
}

const RESET_REPLIES = { OK: 'reset', CHANGED: 'changed', FENCED: 'fenced' } as const;

function readRecounted(reader: ReplyReader): Recounted {
  const [accountId = 0, modelId = 0] = reader.text().split(':').map(Number);
  return { accountId, modelId, before: reader.text(), held: reader.integer() };
}

function readRecountedBudget(reader: ReplyReader): RecountedBudget {
  const [accountId = 0, budgetId = 0] = reader.text().split(':').map(Number);
  return { accountId, budgetId, before: reader.integer(), held: reader.integer() };
}

async function settledInTurn<Item, Value>(
  items: readonly Item[],
  work: (item: Item) => Promise<Value>,
): Promise<PromiseSettledResult<Value>[]> {
  const settled: PromiseSettledResult<Value>[] = [];
  for (const item of items) settled.push(...(await Promise.allSettled([work(item)])));
  return settled;
}
