import { setTimeout as delay } from 'node:timers/promises';
import { Epochs, forgetShard, type RedisConnection } from '@tollgate/keyspace';
import type { DataSource } from 'typeorm';
import { ActivityService, SYSTEM } from '../features/activity/activity.service.ts';
import { ifUnlocked, whileLocked } from '../platform/database/advisory-hold.ts';
import { ADVISORY_LOCK_FAMILIES, ADVISORY_LOCKS } from '../platform/database/advisory-locks.ts';
import { Transactions } from '../platform/database/transactions.ts';
import { report } from './command.ts';

const FILLED_WITHIN_MS = 120_000;
const POLL_MS = 200;

/**
 * Forgets these shards in Redis, so that a running control plane fills each again from PostgreSQL under a new epoch, and waits until each is open. Their
 * accounts get 503 meanwhile, milliseconds to seconds. A shard is also filled when this command is interrupted.
 * `keepsReaps`: what reaps charged there is booked first. Throws at once while another process refills: it would fill what that one has just filled.
 */
export async function refillShards(
  dataSource: DataSource,
  redis: RedisConnection,
  refill: Refill,
): Promise<void> {
  const done = await ifUnlocked(dataSource, [ADVISORY_LOCKS.refill], () =>
    refillAlone(dataSource, redis, refill),
  );
  if (done === null) throw new Error('Shards are being refilled by another command. Wait for it.');
}

interface Refill {
  shards: readonly string[];
  /** Lists every shard of the installation, in order. */
  all: readonly string[];
  keepsReaps: boolean;
}

async function refillAlone(
  dataSource: DataSource,
  redis: RedisConnection,
  { shards, all, keepsReaps }: Refill,
): Promise<void> {
  await new Transactions(dataSource).run(async (tx) =>
    new ActivityService(dataSource).record(tx, SYSTEM, {
      action: 'epochs.refill',
      target: { kind: 'epochs', id: null },
      after: { shards },
    }),
  );
  const epochs = new Epochs(redis);
  const before = new Map<string, string | null>();
  for (const shard of shards) {
    before.set(shard, await epochs.read(shard));
    // A control plane takes this lock to fill the shard.
    await whileLocked(dataSource, [ADVISORY_LOCK_FAMILIES.shardRebuild, all.indexOf(shard)], () =>
      forgetShard(redis, shard, { keepsReaps }),
    );
    report(`${shard} is to be filled again`);
  }
  for (const deadline = Date.now() + FILLED_WITHIN_MS; ; await delay(POLL_MS)) {
    const now = await Promise.all(shards.map((shard) => epochs.readOpen(shard)));
    const missing = shards.filter((shard, index) => {
      const epoch = now[index] ?? null;
      return epoch === null || epoch === before.get(shard);
    });
    if (missing.length === 0) return;
    if (Date.now() > deadline)
      throw new Error(`Not filled yet: ${missing.join(', ')}. Does a control plane run?`);
  }
}
