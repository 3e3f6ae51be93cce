/** @jest-environment node */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import { FunctionLibrary, closeRedis, openRedis, redisReady } from '@tollgate/keyspace';
import type { Redis } from 'ioredis';
import { keys } from '../../../../libs/keyspace/test/past-the-stores.ts';
import { Random } from '../random.ts';
import { DrawnCalls, type DrawnCall } from './drawn-calls.ts';
import { Table, type Lua } from './lua-values.ts';
import { packMessage, unpackMessage } from './message-pack.ts';
import { runCommand, type Reply } from './redis-commands.ts';
import { RedisData } from './redis-data.ts';
import { RedisFunctions } from './redis-functions.ts';

/** Is later than the clock of the machine, as it is given to the functions. */
const START_MS = 1_900_000_000_000;
const SEEDS = 12;
const CALLS = 400;
const COMPARED_EVERY = 20;
/** Bounds the difference of times that are left, which differ by what the calls take. */
const CLOCKS_DIFFER_MS = 5_000;
const OUTBOX = keys.outbox('s00');
const EPOCH = keys.epoch('s00');

let services: Services;
let redis: Redis;
let library: FunctionLibrary;
const functions = new RedisFunctions();

beforeAll(async () => {
  services = await startServices({ postgres: false });
  const connection = openRedis(services.redisUrl, {
    role: 'plain',
    name: 'lua',
    onError: () => {},
  });
  await redisReady(connection, 10_000);
  redis = connection as Redis;
  library = new FunctionLibrary(connection);
  await library.load();
});
afterAll(async () => {
  if (redis) closeRedis(redis);
  await services?.stop();
});
afterEach(async () => {
  await redis.flushall();
});

/** Ids of streams and errors of the interpreters differ; the functions' own errors do not. */
async function answer(call: () => Promise<unknown> | Reply): Promise<unknown> {
  try {
    return plain(await call());
  } catch (error) {
    const { message } = error as Error;
    return message.startsWith('ERR tollgate') ? message : 'failed';
  }
}

function plain(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(plain);
  return typeof reply === 'string' && /^\d{13}-\d+$/.test(reply) ? 'an id' : reply;
}

function expectSame(found: unknown, real: unknown, call: DrawnCall): void {
  const isTime =
    Array.isArray(real) &&
    real[0] === 'HELD_ELSEWHERE' &&
    Array.isArray(found) &&
    found[0] === real[0];
  if (isTime) expect(Math.abs(Number(found[1]) - Number(real[1]))).toBeLessThan(CLOCKS_DIFFER_MS);
  else expect({ call, reply: sorted(found, call) }).toEqual({ call, reply: sorted(real, call) });
}

/** Sorts the members of a set, which come in any order. */
function sorted(reply: unknown, { name }: DrawnCall): unknown {
  const isSet =
    (name === 'access' || name === 'inquire') && Array.isArray(reply) && reply[0] === 'OK';
  return isSet ? [...reply.slice(0, 3), ...reply.slice(3).toSorted()] : reply;
}

const latin = (bytes: Buffer | null): string => bytes?.toString('latin1') ?? '';

async function contentsOfRedis(): Promise<Record<string, unknown>> {
  const contents: Record<string, unknown> = {};
  for (const key of (await redis.keys('*')).toSorted()) contents[key] = await contentOf(key);
  return contents;
}

async function contentOf(key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'string':
      return latin(await redis.getBuffer(key));
    case 'hash': {
      const hash = await redis.hgetallBuffer(key);
      return Object.fromEntries(Object.entries(hash).map(([name, value]) => [name, latin(value)]));
    }
    case 'zset':
      return redis.zrange(key, 0, '-1', 'WITHSCORES');
    case 'set':
      return (await redis.smembers(key)).toSorted();
    default:
      return (await redis.xrange(key, '-', '+')).map(([, fields]) => fields);
  }
}

function contentsOf(data: RedisData): Record<string, unknown> {
  const bytes = (text: string): string => Buffer.from(text, 'latin1').toString();
  return Object.fromEntries(
    data
      .keysLike('')
      .toSorted()
      .map((key) => {
        const value = data.valueOf(key);
        if (typeof value === 'string') return [key, value];
        if (value instanceof Set) return [key, [...value].toSorted()];
        if (!(value instanceof Map))
          return [key, value?.entries.map(({ fields }) => fields.map(bytes))];
        if ([...value.values()].every((each) => typeof each === 'string'))
          return [key, Object.fromEntries(value as Map<string, string>)];
        const members = runCommand(data, 'zrangebyscore', [key, '-inf', '+inf']) as string[];
        return [key, members.flatMap((member) => [member, String(value.get(member))])];
      }),
  );
}

test('every function answers and writes in the simulation what it does in Redis', async () => {
  const replies = new Map<string, number>();
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    await redis.flushall();
    await redis.call('FUNCTION', 'FLUSH');
    functions.restart();
    const data = new RedisData();
    const calls = new DrawnCalls(new Random(seed, 'calls'), START_MS);
    const opening = calls.opening();
    runCommand(data, 'set', [EPOCH, 'e1']);
    await redis.set(EPOCH, 'e1');
    for (let nth = 1; nth <= CALLS; nth += 1) {
      const call = opening.shift() ?? calls.next();
      data.nowMs = Date.now();
      const [own] = data.stream(OUTBOX)?.entries ?? [];
      const [other] = call.isRelaying ? await redis.xrange(OUTBOX, '-', '+', 'COUNT', 1) : [];
      const relayed = (id: string | undefined): string[] => (call.isRelaying && id ? [id] : []);
      const found = await answer(() =>
        functions.call(data, call.name, call.keys, [...call.parameters, ...relayed(own?.id)]),
      );
      const real = await answer(() =>
        library.call(call.name, call.keys, [...call.parameters, ...relayed(other?.[0])]),
      );
      expectSame(found, real, call);
      const kind = `${call.name}:${Array.isArray(real) ? String(real[0]) : 'error'}`;
      replies.set(kind, (replies.get(kind) ?? 0) + 1);
      if (nth % COMPARED_EVERY === 0) expect(contentsOf(data)).toEqual(await contentsOfRedis());
    }
  }
  expect(REACHED.filter((kind) => !replies.has(kind))).toEqual([]);
}, 120_000);

/** Calls that never got here would agree with anything. */
const REACHED = [
  ...'OK DUPLICATE RATE_LIMITED BUDGET_EXCEEDED BALANCE_TOO_LOW TOKENS_HELD FENCED error'
    .split(' ')
    .map((kind) => `admit:${kind}`),
  ...['OK', 'STOP', 'GONE', 'error'].map((kind) => `checkpoint:${kind}`),
  ...['OK', 'GONE', 'error'].map((kind) => `restore:${kind}`),
  ...['OK', 'DUPLICATE', 'FENCED', 'error'].map((kind) => `settle:${kind}`),
  ...['OK', 'ALIVE', 'NOT_OPEN'].map((kind) => `reap:${kind}`),
  ...['OK', 'DUPLICATE', 'GAP'].map((kind) => `credit:${kind}`),
  ...['OK', 'DUPLICATE', 'BEHIND'].map((kind) => `withdraw:${kind}`),
  ...['access:OK', 'inquire:OK', 'inquire:RATE_LIMITED', 'repeat_withdrawal:OK'],
  ...['repeat_release:OK', 'repeat_reap:OK', 'put_key:OK', 'put_account:STALE', 'recount:OK'],
  ...[
    'relay:LEASED',
    'relay:HELD_ELSEWHERE',
    'relay:RELEASED',
    'publish:STALE',
    'reset_credits:OK',
  ],
];

test('messages are packed as Redis packs them', async () => {
  const script = 'return cmsgpack.pack(cjson.decode(ARGV[1]))';
  const texts = [0, 31, 32, 255, 256, 70_000].map((size) => 'x'.repeat(size));
  const numbers = [0, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32, 2 ** 53 - 1, 1.5, 0.1];
  const values = [
    ...texts,
    ...numbers,
    ...numbers.map((n) => -n - 1),
    true,
    [1, 'two', [3]],
    { a: [1] },
  ];
  for (const value of values) {
    const real = (await redis.callBuffer('EVAL', script, 0, JSON.stringify([value]))) as Buffer;
    const packed = packMessage(new Table([toLua(value)]));
    expect(packed).toBe(real.toString('latin1'));
    expect(unpackMessage(packed)).toEqual([new Table([toLua(value)])]);
  }
});

function toLua(value: unknown): Lua {
  if (Array.isArray(value)) return new Table(value.map(toLua));
  if (typeof value !== 'object' || value === null) return value;
  return new Table(
    [],
    Object.entries(value).map(([name, each]) => [name, toLua(each)] as const),
  );
}
