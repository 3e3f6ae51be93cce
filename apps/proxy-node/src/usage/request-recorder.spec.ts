import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Services } from '@tollgate/harness';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { eventually, type Downstream } from '../../test/usage/downstream.ts';
import { meteredBench } from '../../test/usage/metered-bench.ts';
import {
  addAccount,
  admit,
  finalOf,
  MODEL_ID,
  usageOf,
  uuidV7,
  type MeteredRedis,
} from '../../test/usage/metered-redis.ts';
import { decodeLine, encodeLine } from '../journal/journal-line.ts';

const TOKENS = 1_000_000;
const bench = meteredBench(TOKENS);
const { close, balance } = bench;
let services: Services;
let world: MeteredRedis;
let downstream: Downstream;
let dataDir: string;
let accountId: number;
/** How far the clock of durations is ahead: what a recorder does only after a while is not waited for. */
let lateMs = 0;

beforeEach(() => {
  ({ services, world, downstream, dataDir, accountId } = bench);
  lateMs = 0;
});

const open: typeof bench.open = (options) =>
  bench.open({ monotonicNow: () => performance.now() + lateMs, ...options });

/** Until a journal of any worker has a count of this request: what a process that ends now leaves behind. */
const counted = ({ rid }: { rid: string }): Promise<void> =>
  eventually('its count is in the journal', () => {
    const journals = join(dataDir, 'journals');
    const files = readdirSync(journals, { recursive: true, encoding: 'utf8' });
    return files
      .filter((file) => file.endsWith('.journal'))
      .flatMap((file) => readFileSync(join(journals, file), 'utf8').split('\n'))
      .map((line) => decodeLine(line))
      .some((line) => line?.t === 'C' && rid in line.counts);
  });

describe('RequestRecorder', () => {
  test('brings a final from the node to PostgreSQL once, and forgets nothing before it is acknowledged', async () => {
    const node = await open();
    const hold = await admit(world, { accountId });
    const final = finalOf(hold, usageOf(100, 50));
    const handle = node.open(hold);
    await handle.settle(final);
    await handle.settle(finalOf(hold, usageOf(1, 1)));
    await eventually(
      'the final is acknowledged',
      () => node.state.unacknowledged === 0 && downstream.events.size > 0,
    );
    expect(downstream.chargeOf(hold.rid)).toBe(150);
    expect(await balance()).toMatchObject({ balance: TOKENS - 150, held: 0 });
  });

  test('brings it quickly: usage reaches PostgreSQL within a second', async () => {
    const node = await open();
    // Until its shards are idle, and looked at as seldom as they ever are.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const hold = await admit(world, { accountId });
    await node.open(hold).settle(finalOf(hold, usageOf(2, 0)));
    const startedAt = Date.now();
    await eventually('the event arrives', () => downstream.events.has(`${hold.rid}:0`));
    expect(Date.now() - startedAt).toBeLessThan(1_000);
  });

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
    /** Until a checkpoint has counted this output and has been decided. */
    const checkpoint = async (): Promise<void> => {
      const before = looks;
      await eventually('checkpoints have counted it', () => looks >= before + 3);
    };
    const stops: string[] = [];
    handle.onStop((reason) => stops.push(reason));
    output = 300;
    await checkpoint();
    expect((await balance())?.held).toBe(1_000);
    output = 400;
    await eventually('the hold grew by a slice', async () => (await balance())?.held === 1_500);
    output = 700;
    await eventually('the hold grew to its bound', async () => (await balance())?.held === 1_800);
    output = 899;
    await checkpoint();
    expect(stops).toEqual([]);
    await handle.settle(finalOf(hold, usageOf(0, 899)));
    await eventually('it is settled', async () => (await balance())?.held === 0);
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
    await handle.settle(finalOf(hold, usageOf(0, 500)));
    await eventually('it is settled', async () => (await balance())?.held === 0);
  });

  test('a stream that waits goes on with what is left of the balance, and ends when that is nothing', async () => {
    accountId = bench.accountId += 1;
    await addAccount(world, accountId, 1_200);
    const node = await open();
    const hold = await admit(world, {
      accountId,
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
    await eventually('it is ended', () => stops.length > 0);
    expect(stops).toEqual(['balance_exhausted']);
    await handle.settle(finalOf(hold, usageOf(0, 600), { outcome: 'balance_exhausted' }));
    await eventually('it is settled', async () => (await balance())?.held === 0);
    expect((await balance())?.balance).toBe(0);
  });

  test('a stream that waits while Redis is away goes on when it returns', async () => {
    const node = await open();
    const hold = await admit(world, { accountId, wantTokens: 1_000, sliceTokens: 500 });
    const handle = node.open(hold);
    await services.redis.kill('SIGSTOP');
    const grown = new Promise<void>((resolve) => handle.grow(resolve));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(handle.room(usageOf(0, 500))).toBe(0);
    await services.redis.kill('SIGCONT');
    await grown;
    expect(handle.room(usageOf(0, 500))).toBeGreaterThan(0);
    await handle.settle(finalOf(hold, usageOf(0, 1)));
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
      rpm: 0,
      rph: 0,
      rpd: 0,
      allowedModels: '',
      allowlist: '',
      drain: false,
      revision: 2,
    });
    lateMs = 5_000;
    expect(await stopped).toBe('access_revoked');
    await handle.settle(finalOf(hold, usageOf(0, 1)));
  });

  test('ends its streams when Redis has not answered for three quarters of a lease', async () => {
    const node = await open();
    const hold = await admit(world, { accountId });
    const handle = node.open(hold);
    const stopped = new Promise<string>((resolve) => handle.onStop(resolve));
    await services.redis.kill('SIGSTOP');
    try {
      lateMs = 45_000;
      expect(await stopped).toBe('access_revoked');
    } finally {
      await services.redis.kill('SIGCONT');
    }
    await handle.settle(finalOf(hold, usageOf(0, 10)));
    await eventually(
      'it is settled after Redis returned',
      () => downstream.chargeOf(hold.rid) === 20 && node.state.unacknowledged === 0,
    );
  });

  test('refuses new requests while Redis is away, settles what ended meanwhile when it returns', async () => {
    const node = await open();
    expect(node.refusal()).toBeNull();
    const hold = await admit(world, { accountId });
    const handle = node.open(hold);
    await services.redis.kill('SIGKILL');
    await eventually('new requests are refused', () => node.refusal() === 'redis_away');
    await handle.settle(finalOf(hold, usageOf(0, 30)));
    await services.redis.start();
    await eventually(
      'it is settled and acknowledged',
      () => node.state.unacknowledged === 0 && downstream.chargeOf(hold.rid) === 60,
      20_000,
    );
    await eventually('requests are accepted', () => node.refusal() === null);
    expect(await balance()).toMatchObject({ balance: TOKENS - 60, held: 0 });
  }, 40_000);

  test('with an allowance, is ready without Redis while there is a key that it may serve, and not before or after', async () => {
    const node = await open({ failOpenTokens: 1_000 });
    expect(node.unreadiness).toBeNull();
    await services.redis.kill('SIGKILL');
    try {
      await eventually('nothing can be served', () => node.unreadiness === 'redis_away');
      node.failOpen.remember({
        accountId,
        keyHash: 'k',
        modelId: MODEL_ID,
        addressHex: '',
        keyId: 5,
        subscriptionId: 9,
        generation: 1,
        epoch: 'e',
        availableTokens: TOKENS,
        expiresAtMs: 0,
      });
      expect(node.unreadiness).toBeNull();
      lateMs = 300_001;
      expect(node.unreadiness).toBe('redis_away');
    } finally {
      await services.redis.start();
    }
    await eventually('requests are accepted', () => node.unreadiness === null);
  }, 40_000);

  test('refuses new requests when PostgreSQL has not acknowledged too many, and accepts them again', async () => {
    downstream.isAcknowledging = false;
    const node = await open({ backlogMax: 2 });
    const finals = await Promise.all([1, 2].map(async () => admit(world, { accountId })));
    for (const hold of finals) await node.open(hold).settle(finalOf(hold, usageOf(0, 1)));
    await eventually(
      'the backlog is full',
      () =>
        node.refusal() === 'backlog_full' &&
        finals.every((hold) => downstream.events.has(`${hold.rid}:0`)),
    );
    downstream.isAcknowledging = true;
    lateMs = 10_000;
    await eventually(
      'unacknowledged finals were emitted again and acknowledged',
      () => node.refusal() === null && node.state.unacknowledged === 0,
      20_000,
    );
    expect(finals.map((hold) => downstream.chargeOf(hold.rid))).toEqual([2, 2]);
    expect(finals.map((hold) => downstream.events.get(`${hold.rid}:0`)?.copies)).toEqual([2, 2]);
  }, 40_000);

  test('hands finals that have grown too old for Redis to the control plane, and says nothing of the others again', async () => {
    const handed: string[] = [];
    const controlPlane = createServer((incoming, answer) => {
      void text(incoming).then((body) => {
        const { finals } = JSON.parse(body) as { finals: { rid: string }[] };
        handed.push(...finals.map(({ rid }) => rid));
        answer.end(JSON.stringify({ booked: finals.map(({ rid }) => rid) }));
      });
    });
    await new Promise<void>((resolve) => controlPlane.listen(0, '127.0.0.1', resolve));
    const settle = jest.spyOn(world.store, 'settle');
    try {
      const node = await open({
        controlPlaneUrl: `http://127.0.0.1:${(controlPlane.address() as AddressInfo).port}`,
        credential: 'c',
      });
      const young = await admit(world, { accountId });
      await node.open(young).settle(finalOf(young, usageOf(0, 1)));
      await eventually('the young one is acknowledged', () => node.state.unacknowledged === 0);
      const old = [20, 30].map((minutes) => ({
        ...young,
        rid: uuidV7(Date.now() - minutes * 60_000),
      }));
      for (const hold of old) await node.open(hold).settle(finalOf(hold, usageOf(0, 1)));
      await eventually('the old ones are booked', () => node.state.unacknowledged === 0);
      expect(handed.toSorted()).toEqual(old.map(({ rid }) => rid).toSorted());
      expect(settle.mock.calls.filter(([{ rid }]) => rid === young.rid)).toMatchObject([
        [{ reEmit: false }],
      ]);
    } finally {
      controlPlane.close();
    }
  });

  test('settles what the process before it left: finals exactly, running requests by their last count', async () => {
    const first = await open();
    const [ended, running] = [await admit(world, { accountId }), await admit(world, { accountId })];
    first.open(running).count(() => usageOf(40, 15));
    await counted(running);
    await services.redis.kill('SIGKILL');
    await first.open(ended).settle(finalOf(ended, usageOf(10, 20)));
    await close(first);
    await services.redis.start();
    await eventually('Redis is back', () => world.redis.status === 'ready');
    const second = await open();
    await eventually('everything is acknowledged', () => second.state.unacknowledged === 0, 20_000);
    expect(downstream.chargeOf(ended.rid)).toBe(45);
    expect(downstream.chargeOf(running.rid)).toBe(50);
    expect(downstream.events.get(`${running.rid}:0`)?.outcome).toBe('node_lost');
    expect(await balance()).toMatchObject({ balance: TOKENS - 95, held: 0 });
  }, 60_000);

  test('settles the journals of workers that no longer exist, and removes them', async () => {
    const extra = await open({ worker: 1 });
    const hold = await admit(world, { accountId, node: 'node-1:1' });
    extra.open(hold).count(() => usageOf(0, 5));
    await counted(hold);
    await close(extra);
    const node = await open({ worker: 0 });
    await eventually(
      'it is acknowledged',
      () => node.state.unacknowledged === 0 && downstream.chargeOf(hold.rid) === 10,
    );
    expect(readdirSync(join(dataDir, 'journals'))).toEqual(['node-1.0']);
  });

  test('settles what can be read of a damaged journal and sets the file aside, once', async () => {
    const first = await open();
    const [ended, running] = [await admit(world, { accountId }), await admit(world, { accountId })];
    first.open(running).count(() => usageOf(40, 15));
    await services.redis.kill('SIGKILL');
    await first.open(ended).settle(finalOf(ended, usageOf(10, 20)));
    await counted(running);
    await close(first);
    const folder = join(dataDir, 'journals', 'node-1.0');
    const name = readdirSync(folder).find((each) => each.endsWith('.journal')) ?? '';
    const lines = readFileSync(join(folder, name), 'utf8');
    const later = encodeLine(JSON.stringify({ t: 'Z', of: 'a later release' }));
    writeFileSync(join(folder, name), `damaged line\n${later}${lines}`);
    await services.redis.start();
    await eventually('Redis is back', () => world.redis.status === 'ready');
    const second = await open();
    await eventually('everything is acknowledged', () => second.state.unacknowledged === 0, 20_000);
    expect(downstream.chargeOf(ended.rid)).toBe(45);
    expect(downstream.chargeOf(running.rid)).toBe(50);
    const kept = readdirSync(folder).filter((each) => each.includes('set-aside'));
    expect(kept).toEqual([`${name}.set-aside.0`]);
    expect(readFileSync(join(folder, kept[0] ?? ''), 'utf8')).toContain('damaged line');
    expect(second.state.journalsSetAside).toBe(1);
    await close(second);
    const third = await open();
    expect(readdirSync(folder).filter((each) => each.includes('set-aside'))).toEqual(kept);
    expect(third.state.journalsSetAside).toBe(1);
  }, 60_000);

  test('corrects what was charged for a hold that was reaped before its node came back', async () => {
    const first = await open();
    const hold = await admit(world, { accountId, leaseMs: 300 });
    const handle = first.open(hold);
    let output = 10;
    handle.count(() => usageOf(0, output));
    await world.store.checkpoint({
      rid: hold.rid,
      epoch: hold.epoch,
      accountId,
      modelId: MODEL_ID,
      keyHash: hold.keyHash,
      node: 'node-1:0',
      usedTokens: 20,
      extendTokens: 0,
      leaseMs: 300,
    });
    await eventually(
      'it was reaped',
      () => downstream.events.get(`${hold.rid}:0`)?.kind === 'reap',
    );
    expect(downstream.chargeOf(hold.rid)).toBe(20);
    output = 33;
    await handle.settle(finalOf(hold, usageOf(0, output)));
    await eventually(
      'the correction arrived',
      () => downstream.events.has(`${hold.rid}:1`) && first.state.unacknowledged === 0,
    );
    expect(downstream.chargeOf(hold.rid)).toBe(66);
    expect(await balance()).toMatchObject({ balance: TOKENS - 66, held: 0 });
  });
});
