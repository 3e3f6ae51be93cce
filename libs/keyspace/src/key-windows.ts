import { RATE_WINDOWS, type RateWindow } from '@tollgate/contracts';
import type { RedisConnection } from './connection/redis-connection.ts';
import { keys, shardOf } from './keys.ts';

/** As lua/shared/windows.lua writes them. */
const BUCKETS = 60;
const HEAD_BYTES = 12;
const PAIR_BYTES = 8;
const EMPTY = Buffer.alloc(0);

export interface WindowFill {
  window: RateWindow;
  /** Requests that count now. */
  used: number;
  /** ms until none of them counts any more. */
  resetMs: number;
}

/** How full the request windows of a key are. Reads only; a window without a limit is not counted and stands at 0. */
export class KeyWindows {
  readonly #redis: RedisConnection;
  readonly #shards: number;

  constructor({ redis, shards }: { redis: RedisConnection; shards: number }) {
    this.#redis = redis;
    this.#shards = shards;
  }

  async read({
    accountId,
    keyHash,
  }: {
    accountId: number;
    keyHash: string;
  }): Promise<WindowFill[]> {
    const name = keys.windows(shardOf(accountId, this.#shards), keyHash);
    const [head, past] = await Promise.all([
      this.#redis.getBuffer(name),
      this.#redis.getBuffer(`${name}:past`),
    ]);
    const nowMs = await this.#now();
    return RATE_WINDOWS.map(({ name: window, seconds }, index) => {
      const counts = countsOf(index, head ?? EMPTY, past ?? EMPTY);
      return { window, ...fillOf(counts, (seconds * 1_000) / BUCKETS, nowMs) };
    });
  }

  async #now(): Promise<number> {
    const [seconds, microseconds] = await this.#redis.time();
    return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
  }
}

/** Requests by bucket, the newest first. */
function countsOf(index: number, head: Buffer, past: Buffer): [bucket: number, count: number][] {
  const at = index * HEAD_BYTES;
  if (head.length < at + HEAD_BYTES || head.readUInt32BE(at) === 0) return [];
  const counts: [number, number][] = [[head.readUInt32BE(at), head.readUInt32BE(at + 8)]];
  const ring = past.subarray(index * BUCKETS * PAIR_BYTES, (index + 1) * BUCKETS * PAIR_BYTES);
  for (let pair = 0; pair + PAIR_BYTES <= ring.length; pair += PAIR_BYTES)
    counts.push([ring.readUInt32BE(pair), ring.readUInt32BE(pair + 4)]);
  return counts;
}

/** Returns what `look` of lua/shared/windows.lua says of a window. */
function fillOf(
  counts: readonly [bucket: number, count: number][],
  bucketMs: number,
  nowMs: number,
): { used: number; resetMs: number } {
  const [newest = 0] = counts[0] ?? [];
  const present = Math.floor(nowMs / bucketMs);
  // Written by a clock that was wrong then.
  if (newest >= present + BUCKETS) return { used: 0, resetMs: 0 };
  const oldest = Math.max(present, newest) - BUCKETS;
  const used = counts.reduce((sum, [bucket, count]) => sum + (bucket > oldest ? count : 0), 0);
  return { used, resetMs: used > 0 ? (newest + BUCKETS) * bucketMs - nowMs : 0 };
}
