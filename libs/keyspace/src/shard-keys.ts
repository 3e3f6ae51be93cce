import { primariesOf, type RedisConnection } from './functions/function-library.ts';
import { keys } from './keys.ts';
import type { SubscriptionRef } from './records/subscription-balance.ts';

/** Limits the keys checked in one step of SCAN. */
const SCAN_COUNT = 1_000;
const SUBSCRIPTION = /^\{s\d{2,5}\}:sub:(\d+):(\d+)$/;

/** Returns every subscription that Redis has books of in this shard. It serves an operator's command, whose user must be allowed to SCAN. */
export async function knownSubscriptions(
  redis: RedisConnection,
  shard: string,
): Promise<SubscriptionRef[]> {
  return (await keysOf(redis, shard)).flatMap((key) => {
    const [, accountId, modelId] = SUBSCRIPTION.exec(key) ?? [];
    return accountId === undefined
      ? []
      : [{ accountId: Number(accountId), modelId: Number(modelId) }];
  });
}

/**
 * Fences the shard and deletes everything of it but its outbox, so that a control plane fills it from PostgreSQL as after a loss. Answers how many
 * keys it had. The caller keeps control planes from filling it meanwhile.
 * With `keepsReaps`, charges of reaps that may not be booked stay too. Their nodes are gone, so the control plane books them before it fills the shard.
 */
export async function forgetShard(
  redis: RedisConnection,
  shard: string,
  { keepsReaps }: { keepsReaps: boolean },
): Promise<number> {
  await redis.del(keys.epoch(shard));
  const kept = new Set([keys.epoch(shard), keys.outbox(shard)]);
  if (keepsReaps) {
    kept.add(keys.reaped(shard));
    for (const rid of await redis.zrangebyscore(keys.reaped(shard), '-inf', '+inf'))
      kept.add(`${keys.holdPrefix(shard)}${rid}`);
  }
  let count = 1;
  for (const key of await keysOf(redis, shard)) {
    if (kept.has(key)) continue;
    count += await redis.del(key);
  }
  return count;
}

function keysOf(redis: RedisConnection, shard: string): Promise<string[]> {
  return keysLike(redis, `${keys.epoch(shard).slice(0, -'epoch'.length)}*`);
}

/** Returns every key that matches the pattern, on whichever primary it is. It serves operators and tests, as `knownSubscriptions` does. */
export async function keysLike(redis: RedisConnection, pattern: string): Promise<string[]> {
  const found = await Promise.all(
    primariesOf(redis).map(async (primary) => {
      const names = new Set<string>();
      for (let cursor = '0', isFirst = true; isFirst || cursor !== '0'; isFirst = false) {
        const [next, page] = await primary.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT);
        for (const name of page) names.add(name);
        cursor = next;
      }
      return [...names];
    }),
  );
  return found.flat();
}
