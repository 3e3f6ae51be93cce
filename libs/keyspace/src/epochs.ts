import type { RedisConnection } from './redis-connection.ts';
import { keys } from './keys.ts';

/** Stands in place of the epoch while a shard is being filled: to all but the process that fills it the shard stays fenced. */
const REBUILDING = 'rebuilding:';

/** The fencing value of each shard. Absent, or other than expected: every function answers FENCED and changes nothing. */
export class Epochs {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  /** Null while the shard has none or is being filled. */
  async read(shard: string): Promise<string | null> {
    const epoch = await this.readRaw(shard);
    return epoch?.startsWith(REBUILDING) ? null : epoch;
  }

  /** What is written there, the mark of a rebuild too. */
  readRaw(shard: string): Promise<string | null> {
    return this.#redis.get(keys.epoch(shard));
  }

  /** Lets the records of a shard be written by a cache that sees rebuilds, and by no other writer, until `set`. */
  async beginRebuild(shard: string, token: string): Promise<void> {
    await this.set(shard, `${REBUILDING}${token}`);
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
  readonly #isRebuilder: boolean;
  readonly #known = new Map<string, string>();
  readonly #reading = new Map<string, Promise<string | null>>();

  /** `isRebuilder`: for the process that fills a shard, to which the mark of the rebuild is the epoch. */
  constructor(epochs: Epochs, { isRebuilder = false }: { isRebuilder?: boolean } = {}) {
    this.#epochs = epochs;
    this.#isRebuilder = isRebuilder;
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
  async refreshingOnce<R extends { kind: string }>(
    shard: string,
    call: (epoch: string) => Promise<R>,
  ): Promise<R | { kind: 'fenced' }> {
    const epoch = await this.expected(shard);
    if (epoch === null) return { kind: 'fenced' };
    const reply = await call(epoch);
    if (reply.kind !== 'fenced') return reply;
    const fresh = await this.refresh(shard);
    return fresh === null || fresh === epoch ? reply : call(fresh);
  }

  async #read(shard: string): Promise<string | null> {
    const epoch = await (this.#isRebuilder
      ? this.#epochs.readRaw(shard)
      : this.#epochs.read(shard));
    if (epoch === null) this.#known.delete(shard);
    else this.#known.set(shard, epoch);
    return epoch;
  }
}
