import { keys, natural, shardNames, shardOf } from './keys.ts';
import type { RedisConnection } from './connection/redis-connection.ts';
import { SCOPE_KINDS } from './scope-value.ts';
import { isWrongType } from './connection/reply-reader.ts';
import type { SubscriptionRef } from './records/subscription-balance.ts';

/** Describes a key that every function of its shard or account fails at. */
export interface WrongKey {
  name: string;
  /** Is the account of the record; null for one of a whole shard. */
  accountId: number | null;
}

type Probe = [name: string, look: (name: string) => Promise<unknown>];

/** Finds keys that hold another type than Tollgate's functions write: another program wrote them, and no function replaces them. */
export class KeyTypes {
  readonly #redis: RedisConnection;
  readonly #shards: number;

  constructor({ redis, shards }: { redis: RedisConnection; shards: number }) {
    this.#redis = redis;
    this.#shards = natural(shards, 'shards');
  }

  /** Returns the wrong keys among those that a shard has one of. */
  async wrongOfShards(): Promise<WrongKey[]> {
    const found: WrongKey[] = [];
    for (const shard of shardNames(this.#shards)) {
      const probes: Probe[] = [
        ...[keys.epoch, keys.relay, keys.latestTime].map((of): Probe => this.#text(of(shard))),
        ...[keys.holds, keys.reaped].map((of): Probe => [
          of(shard),
          (name) => this.#redis.zcard(name),
        ]),
        [keys.outbox(shard), (name) => this.#redis.xlen(name)],
      ];
      found.push(...(await wrong(probes, null)));
    }
    return found;
  }

  /** Returns the wrong keys of the accounts of these subscriptions. `LiveRecords.mark` reads the balances themselves. */
  async wrongOf(refs: readonly SubscriptionRef[]): Promise<WrongKey[]> {
    const accounts = [...new Set(refs.map(({ accountId }) => accountId))];
    const found = accounts.map((accountId) => {
      const shard = shardOf(accountId, this.#shards);
      const probes: Probe[] = [
        [keys.account(shard, accountId), (name) => this.#redis.hget(name, 'rev')],
        [keys.subscribedModels(shard, accountId), (name) => this.#redis.smembers(name)],
        [keys.budgets(shard, accountId), (name) => this.#redis.hget(name, '')],
        ...Object.values(SCOPE_KINDS).map((kind): Probe => [
          keys.budgetValues(shard, accountId, kind),
          (name) => this.#redis.zcard(name),
        ]),
      ];
      return wrong(probes, accountId);
    });
    return (await Promise.all(found)).flat();
  }

  /** Removes the key; the caller writes its content again afterwards. */
  async remove({ name }: WrongKey): Promise<void> {
    await this.#redis.del(name);
  }

  #text(name: string): Probe {
    return [name, () => this.#redis.get(name)];
  }
}

async function wrong(probes: readonly Probe[], accountId: number | null): Promise<WrongKey[]> {
  const found = probes.map(async ([name, look]): Promise<WrongKey[]> => {
    try {
      await look(name);
      return [];
    } catch (error) {
      if (!isWrongType(error)) throw error;
      return [{ name, accountId }];
    }
  });
  return (await Promise.all(found)).flat();
}
