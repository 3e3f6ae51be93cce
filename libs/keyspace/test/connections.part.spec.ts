import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { closeRedis, onRedisReturn, openRedis, primariesOf, redisReady } from '../src/index.ts';
import { openAccount, openWorld, SHARDS } from './world.ts';
import { blockedClients, open, opened, redis, services, sumOf } from './stores-under-test.ts';

describe('a connection', () => {
  test.each(['hot', 'plain'] as const)(
    'of role %s refuses at once while Redis is away',
    async (role) => {
      const connection = await open(role);
      connection.disconnect(true);
      await expect(connection.get('x')).rejects.toThrow();
      await once(connection, 'ready');
      expect(await connection.get('x')).toBeNull();
    },
  );

  test.each(['hot', 'plain'] as const)(
    'of role %s fails what was under way at once when it breaks',
    async (role) => {
      const connection = await open(role);
      const failed = expect(connection.blpop('never', 20)).rejects.toThrow();
      while (!(await blockedClients()));
      const startedMs = performance.now();
      connection.disconnect(true);
      await failed;
      expect(performance.now() - startedMs).toBeLessThan(1_000);
      await once(connection, 'ready');
    },
  );

  test('reports each connection made to a server, also one made before it is watched, and how long that was away', async () => {
    const connection = await open('plain');
    const servers = primariesOf(connection);
    const breakOne = async (): Promise<void> => {
      const [server] = servers;
      if (!server) throw new Error('there is a server');
      server.disconnect(true);
      await once(server, 'ready');
    };
    const made = servers.map(() => undefined);
    const away: (number | undefined)[] = [];
    const stop = onRedisReturn(connection, (awayMs) => away.push(awayMs));
    expect(away).toStrictEqual([]);
    await setImmediate();
    expect(away).toStrictEqual(made);
    await breakOne();
    expect(away).toStrictEqual([...made, expect.any(Number)]);
    stop();
    onRedisReturn(connection, () => away.push(0))();
    await breakOne();
    await setImmediate();
    expect(away).toHaveLength(made.length + 1);
  });

  test('that has ended keeps no process alive when it is closed again', async () => {
    const connection = await open('plain');
    const timers = () =>
      process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    closeRedis(connection);
    await once(connection, 'end');
    const before = timers();
    closeRedis(connection);
    expect(timers()).toBe(before);
  });

  test('of role blocking waits for Redis to return', async () => {
    const connection = await open('blocking');
    connection.disconnect(true);
    expect(await connection.get('x')).toBeNull();
  });

  test('to nowhere is not ready in time, and reports why', async () => {
    const errors: Error[] = [];
    const connection = openRedis('redis://127.0.0.1:1', {
      role: 'plain',
      name: 'nowhere',
      onError: (error) => errors.push(error),
    });
    opened.push(connection);
    await expect(redisReady(connection, 100)).rejects.toThrow('not ready within 100 ms');
    expect(errors.length).toBeGreaterThan(0);
  });

  test('of role hot sends what one turn of the event loop asks in one go', async () => {
    const world = await openWorld(services.redisUrl);
    const tenant = await world.tenant();
    await openAccount(tenant);
    const written = (): Promise<number> => sumOf('stats', 'total_writes_processed');
    const before = await written();
    const accounts = Array.from({ length: 200 }, (_, index) => ({
      accountId: 1 + index * SHARDS,
      modelId: 1,
    }));
    expect(await tenant.live.getBalances(accounts)).toEqual(accounts.map(() => null));
    expect((await written()) - before).toBeLessThan(20 * primariesOf(redis).length);
    world.close();
  });
});
