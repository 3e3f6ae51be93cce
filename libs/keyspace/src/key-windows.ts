import type { Rate } from '@tollgate/contracts';
import type { RedisConnection } from './connection/redis-connection.ts';
import { keys, shardOf } from './keys.ts';
import { bucketMsOf, BUCKETS, rateField } from './records/live-limits.ts';

/** lua/shared/rates.lua writes a window as bucket, total and count of the newest, and pairs of bucket and count. */
const HEAD_BYTES = 20;
const PAIR_BYTES = 12;
const EMPTY = Buffer.alloc(0);

export interface WindowFill {
  /** Counts the requests or tokens that count now. */
  used: number;
  /** Is the time in ms until none of them counts any more. */
  resetMs: number;
}

/** Names the owner of the windows. */
export type WindowsOf = { accountId: number; keyHash?: string };

/** Reads how full the windows of a key are, or those of an account over all its keys. */
export class KeyWindows {
  readonly #redis: RedisConnection;
  readonly #shards: number;
  readonly #given: (() => number) | undefined;

  /** Takes `now` from tests, in place of Redis' clock. */
  constructor({
    redis,
    shards,
    now,
  }: {
    redis: RedisConnection;
    shards: number;
    now?: () => number;
  }) {
    this.#redis = redis;
    this.#shards = shards;
    this.#given = now;
  }

  /** Reads the windows in the order of the rates. */
  async read(
    { accountId, keyHash }: WindowsOf,
    rates: readonly Pick<Rate, 'window' | 'models'>[],
  ): Promise<WindowFill[]> {
    if (rates.length === 0) return [];
    const shard = shardOf(accountId, this.#shards);
    const isKeys = keyHash !== undefined;
    const name = isKeys ? keys.windows(shard, keyHash) : keys.accountWindows(shard, accountId);
    const fields = rates.map((rate) => rateField(isKeys ? 'key' : 'account', rate));
    const [heads, pasts] = await Promise.all([
      this.#redis.hmgetBuffer(name, ...fields),
      Promise.all(fields.map((field) => this.#redis.getBuffer(`${name}:past:${field}`))),
    ]);
    const nowMs = await this.#now();
    return rates.map(({ window }, index) =>
      fillOf(countsOf(heads[index] ?? EMPTY, pasts[index] ?? EMPTY), bucketMsOf(window), nowMs),
    );
  }

  /** Counts the requests of a key that run now; they are counted where it has a limit of them. */
  async running({ accountId, keyHash }: Required<WindowsOf>): Promise<number> {
    const shard = shardOf(accountId, this.#shards);
    const nowMs = await this.#now();
    return this.#redis.zcount(keys.running(shard, keyHash), `(${nowMs}`, '+inf');
  }

  async #now(): Promise<number> {
    if (this.#given) return this.#given();
    const [seconds, microseconds] = await this.#redis.time();
    return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
  }
}

/** Returns amounts by bucket, the newest first. */
function countsOf(head: Buffer, past: Buffer): [bucket: number, count: number][] {
  if (head.length !== HEAD_BYTES) return [];
  const counts: [number, number][] = [[head.readUInt32BE(0), head.readDoubleBE(12)]];
  for (let pair = 0; pair + PAIR_BYTES <= past.length; pair += PAIR_BYTES)
    counts.push([past.readUInt32BE(pair), past.readDoubleBE(pair + 4)]);
  return counts;
}

/** Returns how full a window is, computed as `move_window` of lua/shared/rates.lua does. */
function fillOf(
  counts: readonly [bucket: number, count: number][],
  bucketMs: number,
  nowMs: number,
): WindowFill {
  const [newest = 0] = counts[0] ?? [];
  const present = Math.floor(nowMs / bucketMs);
  // A clock that was wrong then has written this.
  if (newest >= present + BUCKETS) return { used: 0, resetMs: 0 };
  const oldest = Math.max(present, newest) - BUCKETS;
  const used = counts.reduce((sum, [bucket, count]) => sum + (bucket > oldest ? count : 0), 0);
  return { used, resetMs: used > 0 ? (newest + BUCKETS) * bucketMs - nowMs : 0 };
}
