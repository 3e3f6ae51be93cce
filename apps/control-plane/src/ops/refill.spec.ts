import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Epochs, shardNames } from '@tollgate/keyspace';
import { EpochsService } from '../features/epochs/epochs.service.ts';
import { REDIS } from '../platform/redis/redis.module.ts';
import { startControlPlane, type ControlPlane } from '../testing/control-plane-under-test.ts';
import { refillShards } from './refill.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
  await plane.app.get(EpochsService, { strict: false }).ensureAll();
}, 60_000);
afterAll(() => plane?.stop());

test('of two refills at once one fills the shards and ends once they are open, and the other says that it does', async () => {
  const shards = shardNames(Number(plane.environment['SHARDS']));
  const epochs = plane.app.get(Epochs);
  const before = await Promise.all(shards.map((shard) => epochs.readOpen(shard)));
  const refill = () =>
    refillShards(plane.dataSource, plane.app.get(REDIS), {
      shards,
      all: shards,
      keepsReaps: true,
    }).then(
      async () => Promise.all(shards.map((shard) => epochs.readOpen(shard))),
      (error: unknown) => String(error),
    );
  const outcomes = await Promise.all([refill(), refill()]);
  expect(outcomes).toContain('Error: Shards are being refilled by another command. Wait for it.');
  expect(outcomes).toContainEqual(expect.any(Array));
  const after = outcomes.find((outcome) => typeof outcome !== 'string') ?? [];
  expect(after).toHaveLength(shards.length);
  for (const [index, epoch] of after.entries()) {
    expect(epoch).not.toBeNull();
    expect(epoch).not.toBe(before[index]);
  }
}, 60_000);
