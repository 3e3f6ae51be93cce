import { keys } from '../../../../libs/keyspace/test/past-the-stores.ts';
import type { LiveStore } from './live-store.ts';

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

/** What stands in a shard, read past every function. */
export class LiveView {
  readonly #store: LiveStore;

  constructor(store: LiveStore) {
    this.#store = store;
  }

  /** Neither without an epoch nor being filled. */
  isFull(shard: string): boolean {
    return !(this.#store.data.string(keys.epoch(shard)) ?? 'rebuilding:').startsWith('rebuilding:');
  }

  openHolds(shard: string): LiveHold[] {
    return [...this.#store.data.scores(keys.holds(shard)).keys()].flatMap((rid) => {
      const hold = this.#store.data.hash(keys.hold(shard, rid));
      if (hold?.get('st') !== 'open') return [];
      const number = (field: string): number => Number(hold.get(field));
      return { rid, accountId: number('acct'), modelId: number('model'), amount: number('amt') };
    });
  }

  reapedHolds(shard: string): string[] {
    const prefix = keys.holdPrefix(shard);
    const found = this.#store.data.keysLike(prefix);
    return found
      .filter((key) => this.#store.data.hash(key)?.get('st') === 'reaped')
      .map((key) => key.slice(prefix.length));
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
