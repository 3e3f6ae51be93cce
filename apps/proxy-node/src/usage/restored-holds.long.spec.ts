import { beforeEach, describe, expect, test } from '@jest/globals';
import { Epochs, keysLike } from '@tollgate/keyspace';
import { until, letPass } from '@tollgate/harness';
import { type Downstream } from '../../test/usage/downstream.ts';
import { meteredBench } from '../../test/usage/metered-bench.ts';
import {
  addAccount,
  admit,
  finalOf,
  MODEL_ID,
  usageOf,
  type MeteredRedis,
} from '../../test/usage/metered-redis.ts';
import { journalled } from './usage-recorder.ts';

const TOKENS = 1_200;
const bench = meteredBench(TOKENS);
const { open, close, balance } = bench;
let world: MeteredRedis;
let downstream: Downstream;
let accountId: number;
let epoch = 1;

beforeEach(() => {
  ({ world, downstream, accountId } = bench);
});

const shard = (): string => world.store.shardOf(accountId);

async function loseShard(): Promise<void> {
  await world.redis.del(...(await keysLike(world.redis, `{${shard()}}:*`)));
}

/** Fills like the control plane: from what PostgreSQL says, under an epoch that never was before. */
async function fillShard(tokens: number): Promise<void> {
  epoch += 1;
  await new Epochs(world.redis).set(shard(), `epoch-${epoch}`);
  await addAccount(world, accountId, tokens);
}

describe('a running request whose hold Redis has lost', () => {
  test('gets it back once the shard is filled again, so that no other request spends its tokens, and is settled there', async () => {
    const node = await open();
    const hold = await admit(world, { accountId, wantTokens: 1_000 });
    const handle = node.open(hold);
    handle.count(() => usageOf(0, 30));
    await loseShard();
    await fillShard(TOKENS);
    await until('the hold is back', async () => (await balance())?.held === 1_000, 20_000);
    await expect(admit(world, { accountId, wantTokens: 300, minTokens: 300 })).rejects.toThrow(
      'tokens_held',
    );
    await journalled(handle, finalOf(hold, usageOf(10, 200)));
    await until('it is acknowledged', () => node.state.unacknowledged === 0);
    expect(downstream.chargeOf(hold.rid)).toBe(405);
    expect(await balance()).toEqual({ balance: TOKENS - 405, held: 0, running: 0 });
  }, 60_000);

  test('gets it back at the word that its shard is full, before others are admitted there', async () => {
    const node = await open();
    const hold = await admit(world, { accountId, wantTokens: 1_000 });
    const handle = node.open(hold);
    await loseShard();
    await fillShard(TOKENS);
    const epochs = new Epochs(world.redis);
    const filled = `epoch-${epoch}`;
    await epochs.set(shard(), `rebuilding:${filled}`);
    await epochs.beginRestoring(shard(), filled);
    const other = { accountId, wantTokens: 300, minTokens: 300 };
    await expect(admit(world, other)).rejects.toThrow('fenced');
    node.shardFilled(shard(), filled);
    await until('the hold is back', async () => (await balance())?.held === 1_000, 1_000);
    await expect(admit(world, other)).rejects.toThrow('fenced');
    expect(await epochs.open(shard(), filled)).toBe(true);
    await expect(admit(world, other)).rejects.toThrow('tokens_held');
    await journalled(handle, finalOf(hold, usageOf(10, 200)));
    await until('it is acknowledged', () => node.state.unacknowledged === 0);
    expect(await balance()).toMatchObject({ held: 0, running: 0 });
  }, 60_000);

  test('gets back what is left of it, and ends as if its balance were used up when that is too little', async () => {
    const node = await open();
    const hold = await admit(world, { accountId, wantTokens: 1_000, sliceTokens: 1_000 });
    const handle = node.open(hold);
    handle.count(() => usageOf(0, 200));
    const stopped = new Promise<string>((resolve) => handle.onStop(resolve));
    await loseShard();
    await fillShard(300);
    await until('what is left is held', async () => (await balance())?.held === 300, 20_000);
    // A stream that got more than that has no room.
    expect(handle.room(usageOf(0, 200))).toBeLessThan(0);
    handle.grow(() => undefined);
    expect(await stopped).toBe('balance_exhausted');
    expect(await balance()).toEqual({ balance: 300, held: 300, running: 1 });
    await journalled(handle, finalOf(hold, usageOf(0, 200)));
    await until('it is settled', async () => (await balance())?.held === 0);
    expect(await balance()).toMatchObject({ balance: -100 });
  }, 60_000);

  test('is settled exactly by the next process when its node dies after the hold was restored', async () => {
    const first = await open();
    const hold = await admit(world, { accountId, wantTokens: 600 });
    first.open(hold).count(() => usageOf(0, 50));
    await loseShard();
    await fillShard(TOKENS);
    await until('the hold is back', async () => (await balance())?.held === 600, 20_000);
    await close(first);
    const second = await open();
    await until(
      'it is acknowledged',
      () => second.state.unacknowledged === 0 && downstream.events.has(`${hold.rid}:0`),
      20_000,
    );
    expect(downstream.chargeOf(hold.rid)).toBe(100);
    expect(await balance()).toEqual({ balance: TOKENS - 100, held: 0, running: 0 });
  }, 60_000);

  test('is restored under the epoch that stands when Redis is lost twice', async () => {
    const node = await open();
    const hold = await admit(world, { accountId, wantTokens: 600 });
    const handle = node.open(hold);
    for (let loss = 0; loss < 2; loss += 1) {
      await loseShard();
      await fillShard(TOKENS);
      await until('the hold is back', async () => (await balance())?.held === 600, 20_000);
    }
    await journalled(handle, finalOf(hold, usageOf(0, 20)));
    await until('it is acknowledged', () => node.state.unacknowledged === 0);
    expect(await balance()).toEqual({ balance: TOKENS - 40, held: 0, running: 0 });
  }, 60_000);

  test("gets it back when only the end of Redis' file was lost", async () => {
    const node = await open();
    const hold = await admit(world, { accountId, wantTokens: 600 });
    const handle = node.open(hold);
    await world.redis.del(`{${shard()}}:hold:${hold.rid}`, `{${shard()}}:holds`);
    await world.redis.hset(`{${shard()}}:sub:${accountId}:${MODEL_ID}`, { held: '0', conc: '0' });
    await until('the hold is back', async () => (await balance())?.held === 600, 20_000);
    await journalled(handle, finalOf(hold, usageOf(0, 20)));
    await until('it is acknowledged', () => node.state.unacknowledged === 0);
    expect(await balance()).toEqual({ balance: TOKENS - 40, held: 0, running: 0 });
  }, 60_000);

  test('is left alone when it may have been reaped before: its final waits for the control plane', async () => {
    let lateMs = 0;
    const node = await open({ monotonicNow: () => performance.now() + lateMs });
    const hold = await admit(world, { accountId, wantTokens: 600 });
    const handle = node.open(hold);
    const stopped = new Promise<string>((resolve) => handle.onStop(resolve));
    // The process stood still for so long.
    lateMs = 50_000;
    await loseShard();
    await fillShard(TOKENS);
    expect(await stopped).toBe('unconfirmed');
    await letPass(1_500, 'no rebuild may bring the hold back');
    expect(await balance()).toEqual({ balance: TOKENS, held: 0, running: 0 });
    await journalled(handle, finalOf(hold, usageOf(0, 20)));
    await letPass(500, 'its final must not be settled');
    expect(node.state.unsettled).toBe(1);
    expect(await balance()).toEqual({ balance: TOKENS, held: 0, running: 0 });
  }, 60_000);
});
