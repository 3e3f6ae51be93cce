import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createControlPlaneMac, type Acknowledgement } from '@tollgate/contracts';
import { Acknowledgements, EpochCache, Epochs, primariesOf } from '../src/index.ts';
import { keys } from '../src/keys.ts';
import { blockedClients, mac, open, redis } from './stores-under-test.ts';

describe('acknowledgements', () => {
  test('reach the worker they are for, in order, and the loop ends when it is stopped', async () => {
    const acknowledgements = new Acknowledgements({ redis, mac });
    const rids = [randomUUID(), randomUUID(), randomUUID()];
    await acknowledgements.push('node-1:0', [
      { rid: rids[0] ?? '', seq: 0 },
      { rid: rids[1] ?? '', seq: 1 },
    ]);
    await acknowledgements.push('node-1:1', [{ rid: randomUUID(), seq: 0 }]);
    await acknowledgements.push('node-1:0', []);
    await redis.rpush(keys.acknowledgements('node-1:0'), 'torn');
    expect(await redis.ttl(keys.acknowledgements('node-1:0'))).toBeGreaterThan(6.9 * 86_400);
    const stop = new AbortController();
    const heard: Acknowledgement[] = [];
    const loop = acknowledgements.consume('node-1:0', {
      ...{ blocking: await open('blocking'), signal: stop.signal },
      onAcknowledged: (batch) => {
        heard.push(...batch);
        if (heard.length === 3) stop.abort();
      },
    });
    await acknowledgements.push('node-1:0', [{ rid: rids[2] ?? '', seq: 2 }]);
    await loop;
    expect(heard.map(({ rid, seq }) => ({ rid, seq }))).toEqual(
      rids.map((rid, seq) => ({ rid, seq })),
    );
  });

  test('S53: forged, altered and misdirected lists are not believed', async () => {
    const acknowledgements = new Acknowledgements({ redis, mac });
    const stranger = createControlPlaneMac({ current: 's'.repeat(43) });
    const key = keys.acknowledgements('node-1:0');
    const [rid, other] = [randomUUID(), randomUUID()];
    await acknowledgements.push('node-2:0', [{ rid, seq: 0 }]);
    const ofAnother = (await redis.lrange(keys.acknowledgements('node-2:0'), 0, -1))[0] ?? '';
    await new Acknowledgements({ redis, mac: stranger }).push('node-1:0', [{ rid, seq: 0 }]);
    await redis.rpush(key, ofAnother);
    for (const unsigned of [[{ rid, seq: 0 }], { events: [{ rid, seq: 0 }] }])
      await redis.rpush(key, JSON.stringify(unsigned));
    await acknowledgements.push('node-1:0', [{ rid: other, seq: 0 }]);
    const signed = JSON.parse((await redis.lrange(key, -1, -1))[0] ?? '{}');
    const altered = { ...signed, events: [...signed.events, { rid, seq: 0 }] };
    await redis.rpush(key, JSON.stringify(altered));
    await acknowledgements.push('node-1:0', [{ rid: other, seq: 1 }]);
    const stop = new AbortController();
    const heard: Acknowledgement[] = [];
    await acknowledgements.consume('node-1:0', {
      ...{ blocking: await open('blocking'), signal: stop.signal },
      onAcknowledged: (batch) => {
        heard.push(...batch);
        if (heard.length >= 2) stop.abort();
      },
    });
    expect(heard.map(({ rid, seq }) => ({ rid, seq }))).toEqual([
      { rid: other, seq: 0 },
      { rid: other, seq: 1 },
    ]);
  });

  test('come again after the connection broke', async () => {
    const acknowledgements = new Acknowledgements({ redis, mac });
    const stop = new AbortController();
    const heard: Acknowledgement[] = [];
    const blocking = await open('blocking');
    const loop = acknowledgements.consume('node-1:0', {
      ...{ blocking, signal: stop.signal },
      onAcknowledged: (batch) => {
        heard.push(...batch);
        stop.abort();
      },
    });
    while (!(await blockedClients()));
    await Promise.all(
      primariesOf(redis).map((primary) =>
        primary.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'),
      ),
    );
    await acknowledgements.push('node-1:0', [{ rid: randomUUID(), seq: 0 }]);
    await loop;
    expect(heard).toHaveLength(1);
  });
});

describe('epochs', () => {
  test('are set once at the first start, and known until they change', async () => {
    const epochs = new Epochs(redis);
    const cache = new EpochCache(epochs);
    expect(await cache.expected('s01')).toBeNull();
    expect(await epochs.initialise('s01', 'e1')).toBe(true);
    expect(await epochs.initialise('s01', 'e2')).toBe(false);
    expect(await Promise.all([cache.expected('s01'), cache.expected('s01')])).toEqual(['e1', 'e1']);
    await epochs.set('s01', 'e2');
    expect(await cache.expected('s01')).toBe('e1');
    expect(await cache.refresh('s01')).toBe('e2');
    await epochs.clear('s01');
    expect(await cache.refresh('s01')).toBeNull();
  });

  test('of a shard that is being filled are known to the process that fills it alone', async () => {
    const epochs = new Epochs(redis);
    await epochs.beginRebuild('s01', 'token');
    expect(await new EpochCache(epochs).expected('s01')).toBeNull();
    expect(await new EpochCache(epochs, { isRebuilder: true }).expected('s01')).toBe(
      await epochs.readRaw('s01'),
    );
    expect(await epochs.initialise('s01', 'e1')).toBe(false);
  });
});
