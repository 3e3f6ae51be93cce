import { createHash } from 'node:crypto';
import { keys, shardOf } from './keys.ts';
import type { RedisConnection } from './connection/redis-connection.ts';

/** Describes a response that is made in the background, and the account that pays it. */
export interface BackgroundPlace {
  accountId: number;
  upstreamId: number;
  /** Is the upstream's own id of the response. */
  responseId: string;
}

/** Holds what the nodes of the fleet did with a response that is not settled. */
export interface BackgroundNews {
  /** Counts the most output tokens of it that a client was shown. */
  shownTokens: number;
  /** Is the Unix ms at which its upstream first took a client's cancellation; null while it runs. */
  cancelledAtMs: number | null;
}

const SHOWN = 'shown';
const CANCELLED = 'cancelled';
const NEVER = '+inf';

/**
 * Marks the responses that are still to be settled by their upstreams' reports: a response must not be deleted before, by whichever node is asked to. With each
 * goes what nodes other than its own have shown of it. A mark is lost with Redis' data, until its node looks at it again.
 */
export class BackgroundMarks {
  readonly #redis: RedisConnection;
  readonly #shards: number;

  constructor({ redis, shards }: { redis: RedisConnection; shards: number }) {
    this.#redis = redis;
    this.#shards = shards;
  }

  /** Keeps the news of one that is there. `lifeMs`: it goes by itself when no node is left to remove it. */
  async set(place: BackgroundPlace, lifeMs: number): Promise<void> {
    const key = this.#key(place);
    await this.#redis.zadd(key, 'NX', 0, SHOWN, NEVER, CANCELLED);
    await this.#redis.pexpire(key, Math.max(1, Math.ceil(lifeMs)));
  }

  async has(place: BackgroundPlace): Promise<boolean> {
    return (await this.#redis.zscore(this.#key(place), SHOWN)) !== null;
  }

  /** Returns null where it is not marked. */
  async read(place: BackgroundPlace): Promise<BackgroundNews | null> {
    const key = this.#key(place);
    const [shown, cancelled] = await Promise.all([
      this.#redis.zscore(key, SHOWN),
      this.#redis.zscore(key, CANCELLED),
    ]);
    if (shown === null) return null;
    const atMs = Number(cancelled ?? Number.NaN);
    return { shownTokens: Number(shown), cancelledAtMs: Number.isFinite(atMs) ? atMs : null };
  }

  /** Changes nothing where the response is settled, or where more was shown before. */
  async shown(place: BackgroundPlace, tokens: number): Promise<void> {
    await this.#redis.zadd(this.#key(place), 'XX', 'GT', tokens, SHOWN);
  }

  /** Changes nothing where the response is settled, or was cancelled before. */
  async cancelled(place: BackgroundPlace, atMs: number): Promise<void> {
    await this.#redis.zadd(this.#key(place), 'XX', 'LT', atMs, CANCELLED);
  }

  async remove(place: BackgroundPlace): Promise<void> {
    await this.#redis.del(this.#key(place));
  }

  #key({ accountId, upstreamId, responseId }: BackgroundPlace): string {
    const hash = createHash('sha256').update(`${upstreamId}/${responseId}`).digest('hex');
    return keys.background(shardOf(accountId, this.#shards), hash);
  }
}
