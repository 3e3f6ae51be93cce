import { describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@tollgate/harness';
import { admit, finalOf, MODEL_ID, usageOf } from '../../test/usage/metered-redis.ts';
import { encodeLine } from '../journal/journal-line.ts';
import {
  accountId,
  balance,
  close,
  counted,
  dataDir,
  downstream,
  open,
  services,
  TOKENS,
  world,
} from './recorder-under-test.ts';
import { journalled } from './usage-recorder.ts';

describe('RequestRecorder', () => {
  test('settles what the process before it left: finals exactly, running requests by their last count', async () => {
    const first = await open();
    const [ended, running] = [await admit(world, { accountId }), await admit(world, { accountId })];
    first.open(running).count(() => usageOf(40, 15));
    await counted(running);
    await services.redis.kill('SIGKILL');
    await journalled(first.open(ended), finalOf(ended, usageOf(10, 20)));
    await close(first);
    await services.redis.start();
    await until('Redis is back', () => world.redis.status === 'ready');
    const second = await open();
    await until('everything is acknowledged', () => second.state.unacknowledged === 0, 20_000);
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
    await until(
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
    await journalled(first.open(ended), finalOf(ended, usageOf(10, 20)));
    await counted(running);
    await close(first);
    const folder = join(dataDir, 'journals', 'node-1.0');
    const name = readdirSync(folder).find((each) => each.endsWith('.journal')) ?? '';
    const lines = readFileSync(join(folder, name), 'utf8');
    const later = encodeLine(JSON.stringify({ t: 'Z', of: 'a later release' }));
    writeFileSync(join(folder, name), `damaged line\n${later}${lines}`);
    await services.redis.start();
    await until('Redis is back', () => world.redis.status === 'ready');
    const second = await open();
    await until('everything is acknowledged', () => second.state.unacknowledged === 0, 20_000);
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
    await until('it was reaped', () => downstream.events.get(`${hold.rid}:0`)?.kind === 'reap');
    expect(downstream.chargeOf(hold.rid)).toBe(20);
    output = 33;
    await journalled(handle, finalOf(hold, usageOf(0, output)));
    await until(
      'the correction arrived',
      () => downstream.events.has(`${hold.rid}:1`) && first.state.unacknowledged === 0,
    );
    expect(downstream.chargeOf(hold.rid)).toBe(66);
    expect(await balance()).toMatchObject({ balance: TOKENS - 66, held: 0 });
  });
});
