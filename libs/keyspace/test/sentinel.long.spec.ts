import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services, until } from '@tollgate/harness';
import type { ManagedProcess } from '@tollgate/tools';
import { readFunctionSource } from '../src/functions/function-source.ts';
import { keys } from '../src/keys.ts';
import {
  FunctionLanes,
  FunctionLibrary,
  onRedisReturn,
  openRedis,
  redisReady,
  type ConnectionRole,
  type RedisConnection,
} from '../src/index.ts';

const KEY = keys.relay('s00');
const RELAY_KEYS = [
  KEY,
  keys.outbox('s00'),
  keys.holds('s00'),
  keys.epoch('s00'),
  keys.latestTime('s00'),
];

/** A primary, its replica, and a sentinel that makes the replica primary run. */
let services: Services;
const opened: RedisConnection[] = [];

beforeAll(async () => {
  services = await startServices({ postgres: false, redis: 'sentinel' });
}, 60_000);
afterAll(async () => {
  for (const connection of opened) connection.disconnect();
  await services?.stop();
});

async function open(url: string, role: ConnectionRole = 'plain'): Promise<RedisConnection> {
  const connection = openRedis(url, { role, name: 'sentinel-spec', onError: () => undefined });
  opened.push(connection);
  await redisReady(connection, 15_000);
  return connection;
}

/** Returns the address of one server by itself, past the sentinel. */
function directUrl(name: string): string {
  return services.redisUrl.replace(
    /^redis-sentinel:(.*)@.*$/,
    `redis:$1@127.0.0.1:${services.ports.get(name)}`,
  );
}

test('a sentinel that accepts and never answers is passed over for the next one', async () => {
  const held: Socket[] = [];
  const mute = createServer((socket) => held.push(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = mute.address() as AddressInfo;
    const connection = await open(services.redisUrl.replace('@', `@127.0.0.1:${port},`));
    expect(await connection.set('through', 'the other')).toBe('OK');
  } finally {
    for (const socket of held) socket.destroy();
    mute.close();
  }
}, 30_000);

test('a connection leaves a primary that was replaced while it was merely unresponsive, and reports the return', async () => {
  const connection = await open(services.redisUrl, 'hot');
  const lanes = new FunctionLanes(connection);
  const library = new FunctionLibrary(connection, readFunctionSource(), lanes);
  const relay = (): Promise<unknown> =>
    library.call('relay', RELAY_KEYS, ['node-1:0', 0, 0, 0, 0, '{s00}:hold:']);
  await until('a lane', () => lanes.laneOf(KEY) !== null, 60_000);
  expect(await relay()).toEqual(['RELEASED']);
  // Its connections are broken when it is promoted.
  const second = await open(directUrl('redis-2'), 'blocking');
  const old = services.redisServers[0] as ManagedProcess;
  const returned = new Promise<void>((resolve) =>
    onRedisReturn(connection, (awayMs) => {
      if (awayMs !== undefined) resolve();
    }),
  );
  await old.kill('SIGSTOP');
  await until(
    'a promoted replica',
    async () => (await second.info('replication')).includes('role:master'),
    60_000,
  );
  await old.kill('SIGCONT');
  await returned;
  expect(await connection.set('after', '1')).toBe('OK');
  expect(await second.get('after')).toBe('1');
  // Function calls follow to the new primary, over a lane of their own to it.
  await until('a lane', () => lanes.laneOf(KEY) !== null, 60_000);
  expect(await relay()).toEqual(['RELEASED']);
  expect(await second.client('LIST')).toMatch(/name=sentinel-spec:lane .*cmd=fcall/);
}, 60_000);
