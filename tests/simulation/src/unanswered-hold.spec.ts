import { NO_USAGE } from '@tollgate/contracts';
import { beforeAll, expect, test } from '@jest/globals';
import { silenceLogs } from '../../../apps/control-plane/src/testing/silence-logs.ts';
import { MODEL_ID } from './postgres/first-rows.ts';
import { LiveView } from './redis/live-view.ts';
import { chargedPrice } from './workload.ts';
import { World } from './world.ts';

const SERVING_MS = 5_000;
/** Allows for the lease of a hold, and what relays and workers take to book its end. */
const BOOKED_WITHIN_MS = 90_000;
const BROKEN = 'the watcher is broken';

beforeAll(() => silenceLogs());

async function servingWorld(): Promise<World> {
  const world = new World(1);
  for (const index of world.controlPlanes.keys()) world.startControlPlane(index);
  for (const index of world.nodes.keys()) world.startNode(index);
  await world.runTo(SERVING_MS);
  return world;
}

/** A worker asks for a hold, gets it, and dies before the answer arrives. */
async function dieUnanswered(world: World): Promise<string> {
  const [node] = world.nodes;
  const [subscription] = world.subscriptions;
  if (!node?.isServing || !subscription) throw new Error('the first worker does not serve');
  const { accountId, keyHash } = subscription;
  const request = {
    prompt: { ...NO_USAGE, input: 10 },
    output: 10,
    isStream: false,
    isHungUp: false,
  };
  void node.serve({
    ...request,
    accountId,
    keyHash,
    modelId: MODEL_ID,
    price: chargedPrice(world.currentPrice, []),
  });
  const shard = world.redis.shardOf(accountId);
  const held = () => new LiveView(world.redis).openHolds(shard)[0]?.rid;
  while (held() === undefined) await world.scheduler.step(Infinity);
  node.kill();
  return held() ?? '';
}

test('a hold whose worker died before it learnt of it ends as a reap of no tokens', async () => {
  const world = await servingWorld();
  const rid = await dieUnanswered(world);
  expect(world.truth.requests.has(rid)).toBe(false);
  await world.runTo(SERVING_MS + BOOKED_WITHIN_MS);
  const rows = world.postgres.rows.usage.committed();
  expect(rows).toEqual([expect.objectContaining({ rid, kind: 'reap', delta: 0 })]);
  expect(world.redis.queue.jobs).toEqual([]);
  world.isOver = true;
});

test('a charge for which no worker asked ends the run', async () => {
  const world = await servingWorld();
  const rid = await dieUnanswered(world);
  world.truth.asked.delete(rid);
  await expect(world.runTo(SERVING_MS + BOOKED_WITHIN_MS)).rejects.toThrow(
    `${rid} was booked and no worker asked for it`,
  );
  world.isOver = true;
});

test('a commit that its watcher breaks ends the run, although the product goes on after errors of its server', async () => {
  const world = await servingWorld();
  await dieUnanswered(world);
  world.postgres.rows.usage.onChange = () => {
    throw new Error(BROKEN);
  };
  await expect(world.runTo(SERVING_MS + BOOKED_WITHIN_MS)).rejects.toThrow(BROKEN);
  world.isOver = true;
});
