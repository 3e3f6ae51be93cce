import type { RateWindow } from './metering/admission.ts';
import type { RedisConnection } from './connection/redis-connection.ts';
import { keys, shardOf } from './keys.ts';

/** As lua/shared/windows.lua writes them. */
const BUCKETS = 60;
const BUCKET_MS: Readonly<Record<RateWindow, number>> = { rpm: 1_000, rph: 60_000, rpd: 1_440_000 };
const WINDOWS = ['rpm', 'rph', 'rpd'] as const satisfies readonly RateWindow[];
const TOTAL_BYTES = 4;
const PAIR_BYTES = 8;

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
    const states = await this.#redis.hmgetBuffer(
      keys.windows(shardOf(accountId, this.#shards), keyHash),
      ...WINDOWS,
    );
    const nowMs = await this.#now();
    return WINDOWS.map((window, index) => ({
      window,
      ...fillOf(states[index] ?? null, BUCKET_MS[window], nowMs),
    }));
  }

  async #now(): Promise<number> {
    const [seconds, microseconds] = await this.#redis.time();
    return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
  }
}

/** What `look` and `empty_at` of lua/shared/windows.lua say of a window's state. */
function fillOf(
  state: Buffer | null,
  bucketMs: number,
  nowMs: number,
): { used: number; resetMs: number } {
  if (!state || state.length < TOTAL_BYTES + PAIR_BYTES) return { used: 0, resetMs: 0 };
  const newest = state.readUInt32BE(state.length - PAIR_BYTES);
  const present = Math.floor(nowMs / bucketMs);
  // Written by a clock that was wrong then.
  if (newest >= present + BUCKETS) return { used: 0, resetMs: 0 };
  const bucket = Math.max(present, newest);
  let used = 0;
  for (let at = TOTAL_BYTES; at + PAIR_BYTES <= state.length; at += PAIR_BYTES)
    if (state.readUInt32BE(at) > bucket - BUCKETS) used += state.readUInt32BE(at + 4);
  return { used, resetMs: used > 0 ? (newest + BUCKETS) * bucketMs - nowMs : 0 };
}
