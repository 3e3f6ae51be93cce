import { parseArgs } from 'node:util';
import { startServices } from '@tollgate/harness';
import { openRedis, redisReady, type MeteringStore } from '@tollgate/keyspace';
import { checkOut } from '@tollgate/tools';
import {
  budgetsOf,
  openSide,
  SCENES,
  withEmptyFunctions,
  type RedisConnection,
  type SceneName,
  type Side,
} from './redis-sides.ts';

const PAIRS = 4_000;
const PIPELINED = 50;
const ACCOUNTS = 20;
const MODEL_ID = 3;
const SHARDS = 64;
/** Is a text as long as the final of an ordinary request. */
const PAYLOAD = JSON.stringify({ kind: 'usage', text: 'x'.repeat(500) });
const MAC = 'ab'.repeat(32);
const DAY_MS = 86_400_000;

type Account = Awaited<ReturnType<typeof openAccounts>>[number];

const ONE_PROMPT = 80;

/** `npm run bench -- redis [--against COMMIT] [--rounds 7] [--scenes none,windows,limits,scoped]` measures how much `admit` and `settle` of a request cost Redis, with the limits of a key that is used all day, beside empty functions with the same arguments, and beside another commit for a key without limits, in turn. It reports microseconds of the server's main thread, commands inside, bytes of append-only file. */
export async function benchRedis(args: readonly string[]): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: { against: text, rounds: { ...text, default: '7' }, scenes: text },
  });
  const present = await openSide();
  const other = values.against === undefined ? [] : [await openSide(checkOut(values.against))];
  const scenes = (values.scenes ?? Object.keys(SCENES).join()).split(',') as SceneName[];
  const sides: Record<string, [Side, SceneName]> = {
    'empty, windows': [withEmptyFunctions(present), 'windows'],
    ...Object.fromEntries(other.map((side) => [`${values.against}, none`, [side, 'none']])),
    ...Object.fromEntries(scenes.map((scene) => [scene, [present, scene]])),
  };
  await measureSides(sides, Number(values.rounds));
}

async function measureSides(
  sides: Readonly<Record<string, [Side, SceneName]>>,
  rounds: number,
): Promise<void> {
  const services = await startServices({ postgres: false });
  const redis = openRedis(services.redisUrl, {
    role: 'hot',
    name: 'bench',
    onError: console.error,
  });
  try {
    await redisReady(redis, 10_000);
    await redis.config('SET', 'appendonly', 'yes');
    await redis.config('SET', 'appendfsync', 'no');
    await redis.config('SET', 'auto-aof-rewrite-percentage', '0');
    const accounts = new Map<string, Account[]>();
    for (const [index, [name, [side, scene]]] of Object.entries(sides).entries())
      accounts.set(name, await openAccounts(redis, { side, scene, index }));
    const figures = new Map<string, Figure[]>();
    for (let round = 0; round < rounds; round += 1)
      for (const [name, opened] of accounts)
        figures.set(name, [...(figures.get(name) ?? []), await measure(redis, opened)]);
    console.table(Object.fromEntries([...figures].map(([name, found]) => [name, medians(found)])));
  } finally {
    redis.disconnect();
    await services.stop();
  }
}

async function openAccounts(
  redis: RedisConnection,
  { side, scene, index: at }: { side: Side; scene: SceneName; index: number },
) {
  const { keyspace, sources, records, read } = side;
  const library = new keyspace.FunctionLibrary(redis, sources.readFunctionSource(read));
  await library.load();
  const epochs = new keyspace.Epochs(redis, library);
  const parts = { library, epochs: new keyspace.EpochCache(epochs), shards: SHARDS };
  const clock = { now: 1_900_000_000_000 };
  const past = new keyspace.MeteringStore({ ...parts, now: () => clock.now });
  const store = new keyspace.MeteringStore({ ...parts, signHold: () => MAC });
  const live = new keyspace.LiveRecords({ ...parts, redis });
  const accounts = Array.from({ length: ACCOUNTS }, (_, index) => {
    const accountId = at * ACCOUNTS + index + 1;
    return { store, accountId, modelId: MODEL_ID, keyHash: hashOf(accountId) };
  });
  const presentMs = Date.now();
  const { limits, ofKey, ofAccount } = SCENES[scene];
  for (const { accountId, keyHash } of accounts) {
    const ref = { accountId, modelId: MODEL_ID, id: accountId };
    await epochs.initialise(store.shardOf(accountId), 'e1');
    const key = records.plainKey({ accountId, keyHash, id: accountId });
    await live.putKey({ ...key, ...limits, budgets: budgetsOf(ofKey) });
    const account = { accountId, status: 'active', drain: false, revision: 1 } as const;
    await live.putAccount({ ...account, budgets: budgetsOf(ofAccount) });
    await live.putSubscription(records.plainSubscription(ref));
    await store.credit({
      ...{ accountId, modelId: MODEL_ID, subscriptionId: accountId, seq: 1 },
      deltaTokens: 1_000_000_000_000,
    });
    await useAllDay(past, clock, presentMs, { accountId, keyHash });
  }
  return accounts;
}

/** Makes one request in each bucket of each window: the state of a key in steady use. */
async function useAllDay(
  store: Pick<MeteringStore, 'admit' | 'settle'>,
  clock: { now: number },
  presentMs: number,
  caller: Pick<Account, 'accountId' | 'keyHash'>,
): Promise<void> {
  for (const windowMs of [DAY_MS, DAY_MS / 24, DAY_MS / 24 / 60])
    for (let bucket = 59; bucket > 0; bucket -= 1) {
      clock.now = presentMs - (bucket * windowMs) / 60;
      const rid = uuidV7(clock.now);
      await store.admit(admission({ ...caller, modelId: MODEL_ID }, rid));
      const settled = { chargeTokens: 1, payload: '{}', reEmit: false };
      await store.settle({ rid, accountId: caller.accountId, modelId: MODEL_ID, ...settled });
    }
}

function admission(account: Omit<Account, 'store'>, rid: string) {
  const { accountId, modelId, keyHash } = account;
  return {
    ...{ rid, accountId, modelId, keyHash, modelName: 'gpt-4o-mini', priceVersionId: 7 },
    ...{ wantTokens: 700, minTokens: 100, addressHex: '00000000000000000000ffff7f000001' },
    ...{ concurrencyMax: 0, leaseMs: 60_000, node: 'node-1:0' },
    ...{ promptTokens: ONE_PROMPT, promptTokensMax: 2 * ONE_PROMPT, pricePerMillion: 2_500_000 },
    ...{ plainTokens: { rate: 200_000, base: 2 * ONE_PROMPT }, scopes: { session: 'a session' } },
  };
}

interface Figure {
  us: number;
  commands: number;
  aofBytes: number;
}

async function measure(redis: RedisConnection, accounts: readonly Account[]): Promise<Figure> {
  const before = await read(redis);
  for (let done = 0; done < PAIRS; done += PIPELINED) {
    const calls = Array.from({ length: PIPELINED }, (_, index) => ({
      ...(accounts[(done + index) % accounts.length] as Account),
      rid: uuidV7(Date.now()),
    }));
    await Promise.all(calls.map(({ store, rid, ...call }) => store.admit(admission(call, rid))));
    await Promise.all(
      calls.map(({ store, rid, accountId, modelId }) =>
        store.settle({
          ...{ rid, accountId, modelId, chargeTokens: 200 },
          ...{ payload: PAYLOAD, reEmit: false },
          ratedTokens: { all: 200, uncached: 150 },
        }),
      ),
    );
  }
  const after = await read(redis);
  await Promise.all(
    accounts.map(({ accountId, store }) => redis.del(`{${store.shardOf(accountId)}}:outbox`)),
  );
  return {
    us: (after.us - before.us) / PAIRS,
    commands: (after.commands - before.commands) / PAIRS - 2,
    aofBytes: (after.aofBytes - before.aofBytes) / PAIRS,
  };
}

async function read(redis: RedisConnection): Promise<Figure> {
  const info = `${await redis.info('cpu')}\n${await redis.info('stats')}\n${await redis.info('persistence')}\n${await redis.info('commandstats')}`;
  const number = (name: string): number =>
    Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1]);
  const calls = [...info.matchAll(/^cmdstat_(?!info)\S+:calls=(\d+)/gm)];
  return {
    us: (number('used_cpu_user_main_thread') + number('used_cpu_sys_main_thread')) * 1e6,
    commands: calls.reduce((sum, [, count]) => sum + Number(count), 0),
    aofBytes: number('aof_current_size'),
  };
}

/** Returns medians to one decimal. */
function medians(figures: readonly Figure[]): Figure {
  const median = (of: keyof Figure): number => {
    const sorted = figures.map((figure) => figure[of]).toSorted((a, b) => a - b);
    return Math.round((sorted[Math.floor(sorted.length / 2)] ?? Number.NaN) * 10) / 10;
  };
  return { us: median('us'), commands: median('commands'), aofBytes: median('aofBytes') };
}

function hashOf(accountId: number): string {
  return String(accountId).padStart(64, '0');
}

let lastRid = 0;

function uuidV7(ms: number): string {
  lastRid += 1;
  const time = Math.floor(ms).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${lastRid.toString(16).padStart(12, '0')}`;
}
