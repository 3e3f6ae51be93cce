import { randomBytes } from 'node:crypto';
import {
  createControlPlaneMac,
  NO_USAGE,
  tokenFieldsOf,
  type TokenUsage,
  type UsageFinal,
} from '@tollgate/contracts';
import { chargeOf } from '@tollgate/metering';
import {
  Acknowledgements,
  EpochCache,
  Epochs,
  FunctionLibrary,
  LiveRecords,
  MeteringStore,
  openRedis,
  redisReady,
  type RedisConnection,
} from '@tollgate/keyspace';
import type { PriceVersion } from '@tollgate/snapshot';
import type { OpenHold } from '../../src/journal/open-hold.ts';
import { plainKey, plainSubscription } from '../../../../libs/keyspace/test/plain-records.ts';

export const SHARDS = 4;
export const MODEL_ID = 3;
export const SUBSCRIPTION_ID = 9;
export const PRICE: PriceVersion = {
  id: 2,
  effective_at: 0,
  weight_input: 500_000,
  weight_output: 2_000_000,
  weight_cache_read: 100_000,
  weight_cache_write: 1_250_000,
};

/** Is a Redis with shards, and accounts that have one key and one subscription each. */
export interface MeteredRedis {
  redis: RedisConnection;
  store: MeteringStore;
  live: LiveRecords;
  acknowledgements: Acknowledgements;
  connect: (role: 'plain' | 'blocking' | 'queue_worker') => RedisConnection;
  close: () => void;
}

/** Is the control plane's MAC, which these tests play. */
export const MAC = createControlPlaneMac({ current: 'k'.repeat(43) });

export async function openMeteredRedis(url: string, shards = SHARDS): Promise<MeteredRedis> {
  const connections: RedisConnection[] = [];
  const connect = (role: Parameters<typeof openRedis>[1]['role']): RedisConnection => {
    const connection = openRedis(url, { role, name: 'test', onError: () => undefined });
    connections.push(connection);
    return connection;
  };
  const redis = connect('hot');
  await redisReady(redis, 5_000);
  const library = new FunctionLibrary(redis);
  await library.load();
  const epochStore = new Epochs(redis);
  const epochs = new EpochCache(epochStore);
  const store = new MeteringStore({ library, epochs, shards });
  for (let account = 0; account < shards; account++)
    await epochStore.initialise(store.shardOf(account + shards), 'epoch-1');
  return {
    redis,
    store,
    live: new LiveRecords({ redis, library, epochs, shards }),
    acknowledgements: new Acknowledgements({ redis, mac: MAC }),
    connect,
    close: () => connections.forEach((connection) => connection.disconnect()),
  };
}

export function keyHashOf(accountId: number): string {
  return accountId.toString(16).padStart(64, 'a');
}

/** Adds an account, also after Redis lost it: then with the opening balance of a shard that is filled. */
export async function addAccount(
  { live }: MeteredRedis,
  accountId: number,
  tokens: number,
): Promise<void> {
  await live.putKey(plainKey({ accountId, keyHash: keyHashOf(accountId), id: 5 }));
  await live.putAccount({ accountId, status: 'active', drain: false, revision: 1 });
  await live.putSubscription({
    ...plainSubscription({ accountId, modelId: MODEL_ID, id: SUBSCRIPTION_ID }),
    opening: { balance: tokens, creditSeq: 1 },
  });
}

export interface Admission {
  accountId: number;
  wantTokens?: number;
  minTokens?: number;
  isStream?: boolean;
  sliceTokens?: number;
  boundTokens?: number;
  leaseMs?: number;
  node?: string;
  startedAtMs?: number;
}

/** Admits a request as the pipeline does. Throws when it is refused. */
export async function admit({ store }: MeteredRedis, options: Admission): Promise<OpenHold> {
  const {
    accountId,
    wantTokens = 1_000,
    minTokens = 1,
    isStream = true,
    sliceTokens = 500,
    boundTokens = 100_000,
    leaseMs = 60_000,
    node = 'node-1:0',
    startedAtMs = Date.now(),
  } = options;
  const rid = uuidV7(startedAtMs);
  const reply = await store.admit({
    rid,
    accountId,
    keyHash: keyHashOf(accountId),
    modelId: MODEL_ID,
    modelName: 'demo',
    priceVersionId: PRICE.id,
    wantTokens,
    minTokens,
    addressHex: '',
    concurrencyMax: 0,
    leaseMs,
    node,
  });
  if (reply.kind !== 'admitted') throw new Error(`not admitted: ${JSON.stringify(reply)}`);
  const { keyId, subscriptionId, generation, epoch, grantedTokens } = reply;
  return {
    rid,
    accountId,
    keyHash: keyHashOf(accountId),
    keyId,
    modelId: MODEL_ID,
    subscriptionId,
    generation,
    epoch,
    price: PRICE,
    grantedTokens,
    sliceTokens,
    boundTokens,
    isStream,
    startedAtMs,
    protocol: 'chat',
  };
}

export function finalOf(
  hold: OpenHold,
  usage: TokenUsage,
  {
    node = 'node-1:0',
    outcome = 'completed',
  }: { node?: string; outcome?: UsageFinal['outcome'] } = {},
): UsageFinal {
  return {
    kind: 'usage',
    account_id: hold.accountId,
    key_id: hold.keyId,
    subscription_id: hold.subscriptionId,
    model_id: hold.modelId,
    price_version_id: hold.price.id,
    node,
    protocol: hold.protocol,
    is_stream: hold.isStream,
    upstream_id: 1,
    attempts: [],
    outcome,
    status: 200,
    ...tokenFieldsOf(usage),
    charge: chargeOf(usage, hold.price),
    basis: 'reported',
    started_at: hold.startedAtMs,
    first_token_ms: 1,
    duration_ms: Date.now() - hold.startedAtMs,
  };
}

export function usageOf(input: number, output: number): TokenUsage {
  return { ...NO_USAGE, input, output };
}

export function uuidV7(atMs: number): string {
  const time = atMs.toString(16).padStart(12, '0');
  const random = randomBytes(10).toString('hex');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6, 18)}`;
}
