import { Epochs, keysLike, NO_LIMITS } from '@tollgate/keyspace';
import { describe, expect, test } from '@jest/globals';
import { until, letPass } from '@tollgate/harness';
import { addAccount, admit, finalOf, usageOf } from '../../test/usage/metered-redis.ts';
import {
  accountId,
  balance,
  bench,
  clock,
  downstream,
  open,
  services,
  TOKENS,
  world,
} from './recorder-under-test.ts';
import { journalled } from './usage-recorder.ts';

describe('RequestRecorder', () => {
  test('extends a stream before its hold runs out, up to its bound', async () => {
    const node = await open();
    const hold = await admit(world, {
      accountId,
      wantTokens: 1_000,
      sliceTokens: 500,
      boundTokens: 1_800,
    });
    const handle = node.open(hold);
    let output = 0;
    let looks = 0;
    handle.count(() => {
      looks += 1;
      return usageOf(0, output);
    });
    /** Waits until a checkpoint has counted this output and has been decided. */
    const checkpoint = async (): Promise<void> => {
      const before = looks;
      await until('checkpoints have counted it', () => looks >= before + 3);
    };
    const stops: string[] = [];
    handle.onStop((reason) => stops.push(reason));
    output = 300;
    await checkpoint();
    expect((await balance())?.held).toBe(1_000);
    output = 400;
    await until('the hold grew by a slice', async () => (await balance())?.held === 1_500);
    output = 700;
    await until('the hold grew to its bound', async () => (await balance())?.held === 1_800);
    output = 899;
    await checkpoint();
    expect(stops).toEqual([]);
    await journalled(handle, finalOf(hold, usageOf(0, 899)));
    await until('it is settled', async () => (await balance())?.held === 0);
  });

  test('a stream that waits gets its next slice at once, also beyond its bound', async () => {
    const node = await open();
    const hold = await admit(world, {
      accountId,
      wantTokens: 1_000,
      sliceTokens: 500,
      boundTokens: 1_000,
    });
    const handle = node.open(hold);
    expect(handle.room(usageOf(0, 450))).toBe(50);
    expect(handle.room(usageOf(0, 501))).toBe(-1);
    await new Promise<void>((resolve) => handle.grow(resolve));
    expect(handle.room(usageOf(0, 500))).toBe(250);
    expect((await balance())?.held).toBe(1_500);
    await journalled(handle, finalOf(hold, usageOf(0, 500)));
    await until('it is settled', async () => (await balance())?.held === 0);
  });

  test('a stream that waits goes on with what is left of the balance, and ends when that is nothing', async () => {
    const poor = (bench.accountId += 1);
    await addAccount(world, poor, 1_200);
    const node = await open();
    const hold = await admit(world, {
      accountId: poor,
      wantTokens: 1_000,
      sliceTokens: 1_000,
      boundTokens: 100_000,
    });
    const handle = node.open(hold);
    const stops: string[] = [];
    handle.onStop((reason) => stops.push(reason));
    await new Promise<void>((resolve) => handle.grow(resolve));
    expect(handle.room(usageOf(0, 500))).toBe(100);
    expect(stops).toEqual([]);
    handle.grow(() => stops.push('grown'));
    await until('it is ended', () => stops.length > 0);
    expect(stops).toEqual(['balance_exhausted']);
    await journalled(handle, finalOf(hold, usageOf(0, 600), { outcome: 'balance_exhausted' }));
    await until('it is settled', async () => (await balance())?.held === 0);
    expect((await balance())?.balance).toBe(0);
  });

  test('a stream that waits while Redis is away goes on when it returns', async () => {
    const node = await open();
    const hold = await admit(world, { accountId, wantTokens: 1_000, sliceTokens: 500 });
    const handle = node.open(hold);
    await services.redis.kill('SIGSTOP');
    const grown = new Promise<void>((resolve) => handle.grow(resolve));
    await letPass(300, 'the stream must not grow while Redis is away');
    expect(handle.room(usageOf(0, 500))).toBe(0);
    await services.redis.kill('SIGCONT');
    await grown;
    expect(handle.room(usageOf(0, 500))).toBeGreaterThan(0);
    await journalled(handle, finalOf(hold, usageOf(0, 1)));
  }, 30_000);

  test('ends a stream at the next checkpoint once its key is disabled', async () => {
    const node = await open();
    const hold = await admit(world, { accountId });
    const handle = node.open(hold);
    const stopped = new Promise<string>((resolve) => handle.onStop(resolve));
    await world.live.putKey({
      accountId,
      keyHash: hold.keyHash,
      id: 5,
      status: 'disabled',
      expiresAtMs: 0,
      ...NO_LIMITS,
      allowedModels: '',
      allowlist: '',
      drain: false,
      revision: 2,
    });
    clock.lateMs = 5_000;
    expect(await stopped).toBe('access_revoked');
    await journalled(handle, finalOf(hold, usageOf(0, 1)));
  });

  test('settles a request under the epoch in which its hold was restored', async () => {
    const node = await open();
    const hold = await admit(world, { accountId, wantTokens: 1_000 });
    const handle = node.open(hold);
    const shard = world.store.shardOf(accountId);
    await world.redis.del(...(await keysLike(world.redis, `{${shard}}:*`)));
    await new Epochs(world.redis).set(shard, 'epoch-after-the-loss');
    await addAccount(world, accountId, TOKENS);
    node.shardFilled(shard, 'epoch-after-the-loss');
    await until('the hold is back', async () => (await balance())?.held === 1_000);
    await journalled(handle, finalOf(hold, usageOf(10, 200)));
    await until('it is acknowledged', () => node.state.unacknowledged === 0);
    expect(await balance()).toEqual({ balance: TOKENS - 405, held: 0, running: 0 });
  });

  test('ends its streams when Redis has not answered for three quarters of a lease', async () => {
    const node = await open();
    const hold = await admit(world, { accountId });
    const handle = node.open(hold);
    const stopped = new Promise<string>((resolve) => handle.onStop(resolve));
    await services.redis.kill('SIGSTOP');
    try {
      clock.lateMs = 45_000;
      expect(await stopped).toBe('unconfirmed');
    } finally {
      await services.redis.kill('SIGCONT');
    }
    await journalled(handle, finalOf(hold, usageOf(0, 10)));
    await until(
      'it is settled after Redis returned',
      () => downstream.chargeOf(hold.rid) === 20 && node.state.unacknowledged === 0,
    );
  });
});
