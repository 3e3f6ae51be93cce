import { describe, expect, jest, test } from '@jest/globals';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { until, letPass } from '@tollgate/harness';
import { admit, finalOf, MODEL_ID, usageOf, uuidV7 } from '../../test/usage/metered-redis.ts';
import {
  accountId,
  balance,
  clock,
  downstream,
  open,
  services,
  TOKENS,
  world,
} from './recorder-under-test.ts';
import { journalled } from './usage-recorder.ts';

describe('RequestRecorder', () => {
  test('brings a final from the node to PostgreSQL once, and forgets nothing before it is acknowledged', async () => {
    const node = await open();
    const hold = await admit(world, { accountId });
    const final = finalOf(hold, usageOf(100, 50));
    const handle = node.open(hold);
    await journalled(handle, final);
    await journalled(handle, finalOf(hold, usageOf(1, 1)));
    await until(
      'the final is acknowledged',
      () => node.state.unacknowledged === 0 && downstream.events.size > 0,
    );
    expect(downstream.chargeOf(hold.rid)).toBe(150);
    expect(await balance()).toMatchObject({ balance: TOKENS - 150, held: 0 });
  });

  test('brings it quickly: usage reaches PostgreSQL within a second', async () => {
    const node = await open();
    await letPass(1_500, 'its shards become idle, and are looked at as seldom as they ever are');
    const hold = await admit(world, { accountId });
    await journalled(node.open(hold), finalOf(hold, usageOf(2, 0)));
    const startedAt = Date.now();
    await until('the event arrives', () => downstream.events.has(`${hold.rid}:0`));
    expect(Date.now() - startedAt).toBeLessThan(1_000);
  });

  test('refuses new requests while Redis is away, settles what ended meanwhile when it returns', async () => {
    const node = await open();
    expect(node.refusal()).toBeNull();
    const hold = await admit(world, { accountId });
    const handle = node.open(hold);
    await services.redis.kill('SIGKILL');
    await until('new requests are refused', () => node.refusal() === 'redis_away');
    await journalled(handle, finalOf(hold, usageOf(0, 30)));
    await services.redis.start();
    await until(
      'it is settled and acknowledged',
      () => node.state.unacknowledged === 0 && downstream.chargeOf(hold.rid) === 60,
      20_000,
    );
    await until('requests are accepted', () => node.refusal() === null);
    expect(await balance()).toMatchObject({ balance: TOKENS - 60, held: 0 });
  }, 40_000);

  test('with an allowance, is ready without Redis while there is a key that it may serve, and not before or after', async () => {
    const node = await open({ failOpenTokens: 1_000 });
    expect(node.unreadiness).toBeNull();
    await services.redis.kill('SIGKILL');
    try {
      await until('nothing can be served', () => node.unreadiness === 'redis_away');
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
      clock.lateMs = 300_001;
      expect(node.unreadiness).toBe('redis_away');
    } finally {
      await services.redis.start();
    }
    await until('requests are accepted', () => node.unreadiness === null);
  }, 40_000);

  test('refuses new requests when PostgreSQL has not acknowledged too many, and accepts them again', async () => {
    downstream.isAcknowledging = false;
    const node = await open({ backlogMax: 2 });
    const finals = await Promise.all([1, 2].map(async () => admit(world, { accountId })));
    for (const hold of finals) await journalled(node.open(hold), finalOf(hold, usageOf(0, 1)));
    await until(
      'the backlog is full',
      () =>
        node.refusal() === 'backlog_full' &&
        finals.every((hold) => downstream.events.has(`${hold.rid}:0`)),
    );
    downstream.isAcknowledging = true;
    clock.lateMs = 10_000;
    await until(
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
      await journalled(node.open(young), finalOf(young, usageOf(0, 1)));
      await until('the young one is acknowledged', () => node.state.unacknowledged === 0);
      const old = [20, 30].map((minutes) => ({
        ...young,
        rid: uuidV7(Date.now() - minutes * 60_000),
      }));
      for (const hold of old) await journalled(node.open(hold), finalOf(hold, usageOf(0, 1)));
      await until('the old ones are booked', () => node.state.unacknowledged === 0);
      expect(handed.toSorted()).toEqual(old.map(({ rid }) => rid).toSorted());
      expect(settle.mock.calls.filter(([{ rid }]) => rid === young.rid)).toMatchObject([
        [{ reEmit: false }],
      ]);
    } finally {
      controlPlane.close();
    }
  });
});
