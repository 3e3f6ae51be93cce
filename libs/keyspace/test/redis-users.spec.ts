import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startServices, until, type Services } from '@tollgate/harness';
import {
  Epochs,
  FunctionLibrary,
  openRedis,
  primariesOf,
  redisReady,
  type RedisConnection,
} from '../src/index.ts';
import { FUNCTION_NAMES, OF_NODES, readFunctionSource } from '../src/functions/function-source.ts';

/** Tries the commands that each user of Redis may not run against a real server, with the rights that every installation gives. */
type User = 'controlPlane' | 'node' | 'queue';

let services: Services;
const connections = new Map<User | 'operator', RedisConnection>();

beforeAll(async () => {
  services = await startServices({ postgres: false });
  for (const user of ['controlPlane', 'node', 'queue', 'operator'] as const) {
    const url = user === 'operator' ? services.redisUrl : services.redisUrls[user];
    const connection = openRedis(url, { role: 'plain', name: user, onError: () => undefined });
    connections.set(user, connection);
    await redisReady(connection, 10_000);
  }
}, 30_000);
afterAll(async () => {
  for (const connection of connections.values()) connection.disconnect();
  await services?.stop();
});

const as = (user: User | 'operator'): RedisConnection => {
  const connection = connections.get(user);
  if (!connection) throw new Error(`no connection of ${user}`);
  return connection;
};
const onPrimaries = <T>(act: (primary: ReturnType<typeof primariesOf>[number]) => Promise<T>) =>
  Promise.all(primariesOf(as('operator')).map(act));
const loseFunctions = (): Promise<unknown> =>
  onPrimaries((primary) => primary.call('FUNCTION', 'FLUSH'));
/** Sums over all servers. */
async function failedCalls(): Promise<number> {
  const infos = await onPrimaries((primary) => primary.info('commandstats'));
  return infos.reduce(
    (sum, info) => sum + Number(/cmdstat_fcall:.*failed_calls=(\d+)/.exec(info)?.[1] ?? 0),
    0,
  );
}
const RELAY_KEYS = ['relay', 'outbox', 'holds', 'epoch'].map((part) => `{s00}:${part}`);
const CALLS = 60;
/** So often the library is asked for before it is loaded. */
const ASKED_AGAIN = 5;
const EVERYWHERE = [
  ['FLUSHALL'],
  ['FLUSHDB'],
  ['CONFIG', 'GET', '*'],
  ['CONFIG', 'SET', 'requirepass', ''],
  ['KEYS', '*'],
  ['SCAN', '0'],
  ['RANDOMKEY'],
  ['MONITOR'],
  ['ACL', 'LIST'],
  ['ACL', 'SETUSER', 'default', 'nopass'],
  ['CLIENT', 'LIST'],
  ['CLIENT', 'KILL', 'TYPE', 'normal'],
  ['SHUTDOWN', 'NOSAVE'],
  ['REPLICAOF', '127.0.0.1', '1'],
  ['MODULE', 'LIST'],
  ['SAVE'],
  ['BGREWRITEAOF'],
  ['FUNCTION', 'FLUSH'],
  ['SCRIPT', 'FLUSH'],
  ['SLOWLOG', 'GET'],
  ['MIGRATE', '127.0.0.1', '1', '{s00}:epoch', '0', '1'],
  ['CLUSTER', 'RESET'],
];
const FORBIDDEN: Record<User, string[][]> = {
  node: [
    ...EVERYWHERE,
    ['FUNCTION', 'DELETE', 'tollgate'],
    [
      'FUNCTION',
      'LOAD',
      'REPLACE',
      "#!lua name=evil\nredis.register_function('evil', function() return 1 end)",
    ],
    ['EVAL', 'return 1', '0'],
    ['SET', '{fleet}:snapshot:current', '9'],
    ['SET', '{fleet}:snapshot:9', '{}'],
    ['SET', '{fleet}:snapshot:9:seal', '{}'],
    ['DEL', '{fleet}:snapshot:9'],
    ['HSET', '{fleet}:desired', 'node-1', '{}'],
    ['HDEL', '{fleet}:desired', 'node-1'],
    ['GET', '{fleet}:dump:x'],
    ['PUBLISH', 'another', '{}'],
    ['SUBSCRIBE', 'another'],
    ['RPUSH', '{ack:node-2:0}', '[]'],
    ['LPUSH', '{bull}:usage:wait', '1'],
    ['GET', '{bull}:usage:id'],
    ['DEL', '{bull}:usage:1'],
    ['SET', 'elsewhere', '1'],
    ['GET', 'elsewhere'],
  ],
  controlPlane: [
    ...EVERYWHERE,
    ['EVAL', 'return 1', '0'],
    ['GET', '{bull}:usage:id'],
    ['LPUSH', '{bull}:usage:wait', '1'],
    ['SET', 'elsewhere', '1'],
    ['SUBSCRIBE', 'another'],
  ],
  queue: [
    ...EVERYWHERE,
    ['FUNCTION', 'DELETE', 'tollgate'],
    ['FCALL', 'tollgate_credit_0', '0'],
    ['FUNCTION', 'LIST'],
    ['GET', '{fleet}:snapshot:current'],
    ['HGETALL', '{s00}:key:00'],
    ['HINCRBY', '{s00}:sub:1:1', 'bal', '1'],
    ['SET', '{s00}:epoch', 'x'],
    ['EVAL', "return redis.call('SET', '{s00}:epoch', 'x')", '1', '{bull}:x'],
    ['RPUSH', '{ack:node-1:0}', '[]'],
    ['PUBLISH', '{fleet}', '{}'],
  ],
};

describe.each(Object.entries(FORBIDDEN) as [User, string[][]][])(
  'S55: Redis user %s',
  (user, commands) => {
    test.each(commands.map((command) => [command.slice(0, 3).join(' '), command] as const))(
      'may not %s',
      async (_, [name = '', ...args]) => {
        const [primary] = primariesOf(as(user));
        // A script goes where its key lives; all else is judged before keys matter.
        const target = name === 'EVAL' ? as(user) : primary;
        await expect(target?.call(name, ...args)).rejects.toThrow(
          /NOPERM|ACL failure|no permissions|can't (?:run|access)|non local key/,
        );
      },
    );
  },
);

test.each(FUNCTION_NAMES.filter((name) => !OF_NODES.has(name)))(
  'S55: a node may not call %s, which control planes call',
  async (name) => {
    const key = `{s00}:${randomUUID()}`;
    const call = (user: User): Promise<unknown> =>
      new FunctionLibrary(as(user)).call(name, [key, key, key], []);
    await new FunctionLibrary(as('controlPlane')).keepLoaded();
    await expect(call('node')).rejects.toThrow('only a control plane may call this function');
    // Its arguments are refused, or its shard; never its caller.
    const said = await call('controlPlane').catch(String);
    expect(String(said)).not.toContain('only a control plane');
  },
);

test('S55: each user may do what it is for', async () => {
  const key = `{s00}:rights-${randomUUID()}`;
  await as('controlPlane').hset(key, 'st', 'enabled');
  expect(await as('node').hget(key, 'st')).toBe('enabled');
  await as('controlPlane').set('{fleet}:snapshot:current', '1');
  expect(await as('node').get('{fleet}:snapshot:current')).toBe('1');
  await as('queue').lpush('{bull}:usage:wait', '1');
  expect(await as('operator').del(key)).toBe(1);
});

test('a node that misses a function waits until the control plane has loaded it', async () => {
  await loseFunctions();
  const asking = new Epochs(as('node')).read('s00');
  const library = new FunctionLibrary(as('node'));
  const calling = library.call('relay', RELAY_KEYS, ['node-1:0', 0, 0, 0, 0, '{s00}:hold:']);
  await new FunctionLibrary(as('controlPlane')).keepLoaded();
  expect(await calling).toEqual(['RELEASED']);
  expect(await asking).toBeNull();
});

test('many calls that miss a function ask Redis as often as one while they wait', async () => {
  await loseFunctions();
  const before = await failedCalls();
  const library = new FunctionLibrary(as('node'));
  const relay = [RELAY_KEYS, ['node-1:0', 0, 0, 0, 0, '{s00}:hold:']] as const;
  const calls = Array.from({ length: CALLS }, () => library.call('relay', ...relay));
  await until(
    'the library is missed',
    async () => (await failedCalls()) - before >= CALLS + ASKED_AGAIN,
  );
  await new FunctionLibrary(as('controlPlane')).keepLoaded();
  expect(await Promise.all(calls)).toEqual(calls.map(() => ['RELEASED']));
  expect((await failedCalls()) - before).toBeLessThan(CALLS + 4 * ASKED_AGAIN);
});

test('a call that misses a function waits its own time, also when those before it have given up', async () => {
  await loseFunctions();
  const library = new FunctionLibrary(as('node'));
  const relay = [RELAY_KEYS, ['node-1:0', 0, 0, 0, 0, '{s00}:hold:']] as const;
  const early = library.call('relay', ...relay).catch((error: unknown) => String(error));
  await delay(1_500);
  const late = [1, 2].map(() => library.call('relay', ...relay).catch(String));
  expect(await early).toContain('Function not found');
  await new FunctionLibrary(as('controlPlane')).keepLoaded();
  expect(await Promise.all(late)).toEqual([['RELEASED'], ['RELEASED']]);
}, 10_000);

test('the control plane takes functions back from a library that another user put in their place', async () => {
  const { text, library } = readFunctionSource();
  await loseFunctions();
  await onPrimaries((primary) =>
    primary.call('FUNCTION', 'LOAD', text.replace(`name=${library}`, 'name=stranger')),
  );
  expect(await new FunctionLibrary(as('controlPlane')).keepLoaded()).toEqual(['stranger']);
});
