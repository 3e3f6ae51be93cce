import type { RedisConnection } from './function-library.ts';
import { keys } from './keys.ts';

/** The fencing value of each shard. Absent, or other than expected: every function answers FENCED and changes nothing. */
export class Epochs {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  read(shard: string): Promise<string | null> {
    return this.#redis.get(keys.epoch(shard));
  }

  /** For the first start alone: an installation that had epochs before and finds none has lost its data and must rebuild. True when it was set. */
  async initialise(shard: string, epoch: string): Promise<boolean> {
    return (await this.#redis.set(keys.epoch(shard), epoch, 'NX')) === 'OK';
  }

  async set(shard: string, epoch: string): Promise<void> {
    await this.#redis.set(keys.epoch(shard), epoch);
  }

  /** Fences the shard: from now on nothing is admitted, settled or credited in it. */
  async clear(shard: string): Promise<void> {
    await this.#redis.del(keys.epoch(shard));
  }
}

/** What this process believes the epochs to be. A missing epoch is never remembered. */
export class EpochCache {
  readonly #epochs: Epochs;
  readonly #known = new Map<string, string>();
  readonly #reading = new Map<string, Promise<string | null>>();

  constructor(epochs: Epochs) {
    this.#epochs = epochs;
  }

  async expected(shard: string): Promise<string | null> {
    return this.#known.get(shard) ?? this.refresh(shard);
  }

  /** Reads the epoch anew; calls at the same time share one read. */
  refresh(shard: string): Promise<string | null> {
    const running = this.#reading.get(shard);
    if (running) return running;
    const reading = this.#read(shard).finally(() => this.#reading.delete(shard));
    this.#reading.set(shard, reading);
    return reading;
  }

  /** Calls with the expected epoch; when that is answered `fenced` and the epoch has changed meanwhile, once more with the new one. */
  async refreshingOnce<R extends { kind: string }>(shard: string, call: (epoch: string) => Promise<R>): Promise<R | { kind: 'fenced' }> {
    const epoch = await this.expected(shard);
    if (epoch === null) return { kind: 'fenced' };
    const reply = await call(epoch);
    if (reply.kind !== 'fenced') return reply;
    const fresh = await this.refresh(shard);
    return fresh === null || fresh === epoch ? reply : call(fresh);
  }

  async #read(shard: string): Promise<string | null> {
    const epoch = await this.#epochs.read(shard);
    if (epoch === null) this.#known.delete(shard);
    else this.#known.set(shard, epoch);
    return epoch;
  }
}
