import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import type { ManagedProcess } from '@tollgate/tools';
import type { Cluster } from 'ioredis';
import { keys } from '../src/keys.ts';
import {
  closeRedis,
  openRedis,
  redisReady,
  type ConnectionRole,
  type RedisConnection,
} from '../src/index.ts';

/** Belongs to the first primary. */
const KEY = keys.epoch('s02');
/** A failed check of one connection in three would be enough for a promise that stays open. */
const CONNECTIONS = 12;
/** Redis decides after 5 s that a primary is gone, a cluster's slots are read every 5 s, and the machine may be busy. */
const ANSWERED_MS = 40_000;

/** Three primaries with a replica each run. */
let services: Services;
let first: ManagedProcess;
const opened: RedisConnection[] = [];

beforeAll(async () => {
  services = await startServices({ postgres: false, redis: 'replicated-cluster' });
  first = services.redisServers[0] as ManagedProcess;
}, 60_000);
afterEach(() => {
  for (const connection of opened.splice(0)) closeRedis(connection);
});
afterAll(() => services?.stop());

async function open(role: ConnectionRole, url = services.redisUrl): Promise<RedisConnection> {
  const connection = openRedis(url, { role, name: 'waiting-spec', onError: () => undefined });
  opened.push(connection);
  await redisReady(connection, 10_000);
  return connection;
}

function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  const late = delay(ms, undefined, { ref: false }).then(() => {
    throw new Error(`${what}: nothing within ${ms} ms`);
  });
  return Promise.race([work, late]);
}

test('a call that waits for a silent server is sent again over another line', async () => {
  const { port, swallow, close } = await openProxy(services.ports.get('redis-1') ?? 0);
  try {
    const { password } = new URL(services.redisUrl.replace(/,.*/, ''));
    const connection = await open('queue_worker', `redis://:${password}@127.0.0.1:${port}`);
    swallow();
    expect(await within(25_000, 'an answer', connection.ping())).toBe('PONG');
  } finally {
    close();
  }
}, 40_000);

test('calls that wait for a dead primary are answered by its replica while it stays away, and connections are made meanwhile', async () => {
  const roles = ['blocking', 'queue_worker'] as const;
  const connections = await Promise.all(roles.map((role) => open(role)));
  const blocked = connections.map((connection) => connection.blpop(KEY, 2));
  const other = (await open('queue_worker')) as Cluster;
  await first.kill('SIGKILL');
  const asked = connections.map((connection) => connection.exists(KEY));
  for (let made = 0; made < CONNECTIONS; made += 1) {
    other.disconnect();
    await once(other, 'end');
    await within(10_000, `connection ${made}`, other.connect());
  }
  const answers = await within(ANSWERED_MS, 'answers', Promise.all([...asked, ...blocked]));
  expect(answers).toEqual([0, 0, null, null]);
  expect(first.isRunning).toBe(false);
}, 90_000);

/** Opens a proxy to a server on this machine; after `swallow`, what is sent over the connections made so far never arrives. */
async function openProxy(
  target: number,
): Promise<{ port: number; swallow: () => void; close: () => void }> {
  const sockets: Socket[] = [];
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const socket of [client, upstream]) sockets.push(socket.on('error', () => undefined));
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    swallow: () => {
      for (const socket of sockets) socket.unpipe().resume();
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
