import { keys } from '../../../../libs/keyspace/test/past-the-stores.ts';
import type { LiveStore } from './live-store.ts';
import { unpackMessage } from './message-pack.ts';

export interface LiveHold {
  rid: string;
  accountId: number;
  modelId: number;
  amount: number;
}
export interface LiveSubscription {
  balance: number;
  held: number;
  running: number;
  creditSeq: number | null;
}

/** Reads a shard past every function. */
export class LiveView {
  readonly #store: LiveStore;

  constructor(store: LiveStore) {
    this.#store = store;
  }

  /** Is true unless the shard has no epoch or is being filled. */
  isFull(shard: string): boolean {
    return !(this.#store.data.string(keys.epoch(shard)) ?? 'rebuilding:').startsWith('rebuilding:');
  }

  openHolds(shard: string): LiveHold[] {
    return [...this.#store.data.scores(keys.holds(shard)).keys()].flatMap((rid) => {
      const [state, accountId, modelId, amount] = this.#hold(keys.hold(shard, rid));
      if (state !== 'open') return [];
      return {
        rid,
        accountId: Number(accountId),
        modelId: Number(modelId),
        amount: Number(amount),
      };
    });
  }

  reapedHolds(shard: string): string[] {
    const prefix = keys.holdPrefix(shard);
    const found = this.#store.data.keysLike(prefix);
    return found
      .filter((key) => this.#hold(key)[0] === 'reaped')
      .map((key) => key.slice(prefix.length));
  }

  /** Returns its values in the order of `libs/keyspace/lua/shared/holds.lua`. */
  #hold(key: string): unknown[] {
    return unpackMessage(this.#store.data.string(key) ?? '');
  }

  waitingEvents(shard: string): number {
    return this.#store.data.stream(keys.outbox(shard))?.entries.length ?? 0;
  }

  subscription(accountId: number, modelId: number): LiveSubscription | null {
    const shard = this.#store.shardOf(accountId);
    const record = this.#store.data.hash(keys.subscription(shard, accountId, modelId));
    if (!record?.has('bal')) return null;
    const number = (field: string): number => Number(record.get(field) ?? 0);
    const creditSeq = record.has('cseq') ? number('cseq') : null;
    return { balance: number('bal'), held: number('held'), running: number('conc'), creditSeq };
  }
}
