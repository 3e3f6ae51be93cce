import { createHash } from 'node:crypto';
import { keys, shardOf } from './keys.ts';
import type { RedisConnection } from './redis-connection.ts';

/** A response that is made in the background, and the account that pays it. */
export interface BackgroundPlace {
  accountId: number;
  upstreamId: number;
  /** Native. */
  responseId: string;
}

/**
 * Which responses are still to be settled by what their upstreams say of them: a response must not be deleted before, by whichever node is asked to. Lost
 * with Redis' data, which costs the report of a response that is deleted meanwhile.
 */
export class BackgroundMarks {
  readonly #redis: RedisConnection;
  readonly #shards: number;

  constructor({ redis, shards }: { redis: RedisConnection; shards: number }) {
    this.#redis = redis;
    this.#shards = shards;
  }

  /** `lifeMs`: it goes by itself when no node is left to remove it. */
  async set(place: BackgroundPlace, lifeMs: number): Promise<void> {
    await this.#redis.set(this.#key(place), '1', 'PX', Math.max(1, Math.ceil(lifeMs)));
  }

  async has(place: BackgroundPlace): Promise<boolean> {
    return (await this.#redis.get(this.#key(place))) !== null;
  }

  async remove(place: BackgroundPlace): Promise<void> {
    await this.#redis.del(this.#key(place));
  }

  #key({ accountId, upstreamId, responseId }: BackgroundPlace): string {
    const hash = createHash('sha256').update(`${upstreamId}/${responseId}`).digest('hex');
    return keys.background(shardOf(accountId, this.#shards), hash);
  }
}
