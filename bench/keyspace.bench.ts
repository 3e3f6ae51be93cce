/**
 * What the metering functions cost Redis: microseconds of server CPU a call, pipelined, with request windows and without.
 * `node bench/keyspace.bench.ts [calls]` after a build; prints a table, median of the passes.
 */
import { startServices } from '@tollgate/harness';
import {
  EpochCache,
  Epochs,
  FunctionLibrary,
  LiveRecords,
  MeteringStore,
  openRedis,
  redisReady,
  type RedisConnection,
} from '@tollgate/keyspace';
import { plainKey, plainSubscription } from '../libs/keyspace/test/plain-records.ts';

const CALLS = Number(process.argv[2] ?? 20_000);
const PASSES = 5;
const PIPELINED = 500;
const ACCOUNTS = 200;
const MODEL_ID = 3;
/** As long as a real final. */
const PAYLOAD = JSON.stringify({ kind: 'usage', text: 'x'.repeat(500) });

let lastRid = 0;

const services = await startServices({ postgres: false });
const redis = openRedis(services.redisUrl, { role: 'hot', name: 'bench', onError: console.error });
try {
  await redisReady(redis, 10_000);
  for (const limit of [10_000_000, 0]) console.table(await measure(redis, limit));
} finally {
  redis.disconnect();
  await services.stop();
}

async function measure(
  connection: RedisConnection,
  limit: number,
): Promise<Record<string, { 'server CPU us': number; 'calls/s': number }>> {
  const { store, accounts } = await openAccounts(connection, limit);
  const figures = new Map<string, { cpuUs: number; perSecond: number }[]>();
  for (let pass = 0; pass < PASSES; pass += 1) {
    const rounds = Array.from({ length: Math.ceil(CALLS / ACCOUNTS) }, () => accounts).flat();
    const calls = rounds.map((account) => ({ rid: uuidV7(), ...account }));
    const steps = {
      admit: (call: Call) =>
        store.admit({
          ...call,
          modelName: 'gpt-4',
          priceVersionId: 1,
          wantTokens: 100,
          minTokens: 10,
          addressHex: '',
          concurrencyMax: 0,
          leaseMs: 60_000,
          node: 'node-1:0',
        }),
      checkpoint: (call: Call) =>
        store.checkpoint({
          ...{ ...call, node: 'node-1:0' },
          ...{ usedTokens: 20, extendTokens: 20, leaseMs: 60_000 },
        }),
      settle: (call: Call) =>
        store.settle({ ...call, chargeTokens: 60, payload: PAYLOAD, reEmit: false }),
    };
    for (const [name, step] of Object.entries(steps))
      figures.set(name, [...(figures.get(name) ?? []), await timed(connection, calls, step)]);
  }
  const table = [...figures].map(([name, passes]) => {
    const figure = {
      'server CPU us': median(passes.map(({ cpuUs }) => cpuUs)),
      'calls/s': median(passes.map(({ perSecond }) => perSecond)),
    };
    return [`${name}${limit === 0 ? ', no limits' : ', rpm + rph + rpd'}`, figure] as const;
  });
  return Object.fromEntries(table);
}

interface Call {
  rid: string;
  accountId: number;
  modelId: number;
  keyHash: string;
}

async function openAccounts(
  connection: RedisConnection,
  limit: number,
): Promise<{ store: MeteringStore; accounts: Omit<Call, 'rid'>[] }> {
  await connection.flushall();
  const library = new FunctionLibrary(connection);
  await library.load();
  const epochs = new Epochs(connection);
  const parts = { redis: connection, library, epochs: new EpochCache(epochs), shards: 64 };
  const [store, live] = [new MeteringStore(parts), new LiveRecords(parts)];
  const accounts = Array.from({ length: ACCOUNTS }, (_, index) => ({
    accountId: index + 1,
    modelId: MODEL_ID,
    keyHash: String(index + 1).padStart(64, '0'),
  }));
  for (const { accountId, keyHash } of accounts) {
    await epochs.initialise(store.shardOf(accountId), 'e1');
    const key = plainKey({ accountId, keyHash, id: accountId });
    await live.putKey({ ...key, rpm: limit, rph: limit, rpd: limit });
    await live.putAccount({ accountId, status: 'active', drain: false, revision: 1 });
    await live.putSubscription(plainSubscription({ accountId, modelId: MODEL_ID, id: accountId }));
    await store.credit({
      accountId,
      modelId: MODEL_ID,
      subscriptionId: accountId,
      seq: 1,
      deltaTokens: 1_000_000_000_000,
    });
  }
  return { store, accounts };
}

async function timed(
  connection: RedisConnection,
  calls: readonly Call[],
  step: (call: Call) => Promise<unknown>,
): Promise<{ cpuUs: number; perSecond: number }> {
  const cpuBefore = await serverCpuSeconds(connection);
  const startedMs = performance.now();
  for (let at = 0; at < calls.length; at += PIPELINED)
    await Promise.all(calls.slice(at, at + PIPELINED).map(step));
  const seconds = (performance.now() - startedMs) / 1_000;
  return {
    cpuUs: (((await serverCpuSeconds(connection)) - cpuBefore) * 1e6) / calls.length,
    perSecond: calls.length / seconds,
  };
}

/** To one decimal. */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round((sorted[Math.floor(sorted.length / 2)] ?? Number.NaN) * 10) / 10;
}

async function serverCpuSeconds(connection: RedisConnection): Promise<number> {
  const info = await connection.info('cpu');
  const read = (name: string): number => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)?.[1]);
  return read('used_cpu_user_main_thread') + read('used_cpu_sys_main_thread');
}

function uuidV7(): string {
  lastRid += 1;
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${lastRid.toString(16).padStart(12, '0')}`;
}
