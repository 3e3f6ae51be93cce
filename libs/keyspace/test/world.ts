import type { KeyLimits } from '@tollgate/contracts';
import assert from 'node:assert/strict';
import { Cluster } from 'ioredis';
import {
  Epochs,
  EpochCache,
  FunctionLibrary,
  LiveRecords,
  MeteringStore,
  openRedis,
  redisReady,
  type AdmitRequest,
  type RedisConnection,
} from '../src/index.ts';
import { readFunctionSource, type FunctionSource } from '../src/functions/function-source.ts';
import { keys, shardOf } from '../src/keys.ts';
import { plainKey, plainSubscription } from './plain-records.ts';

/** Is more shards than any run needs, so that each case has one to itself and nothing is ever flushed. */
export const SHARDS = 90_000;
export const MODEL_ID = 3;
export const OTHER_MODEL_ID = 4;
/** Is later than the machine's clock, so that no expiry set by the functions lies in the past. */
const START_MS = 1_900_000_000_000;

/** Checks as plain functions by the promise they keep: run by a spec, and against every mutant. */
export type Checks = Record<string, (world: World) => Promise<void>>;

export interface World {
  redis: RedisConnection;
  source: FunctionSource;
  library: FunctionLibrary;
  epochs: Epochs;
  /** Makes a shard of its own with the epoch `e1`, a clock of its own, and two accounts. */
  tenant: () => Promise<Tenant>;
  close: () => void;
}

/** Holds everything that one case needs, on a shard of its own. */
export interface Tenant {
  shard: string;
  accountId: number;
  otherAccountId: number;
  keyHash: string;
  clock: { now: number };
  epochs: Epochs;
  epochCache: EpochCache;
  redis: RedisConnection;
  library: FunctionLibrary;
  store: MeteringStore;
  live: LiveRecords;
  /** Makes a UUIDv7 of the tenant's present, or of `ageMs` before it. */
  rid: (ageMs?: number) => string;
}

/** Ends the reading of an outbox that drops nothing, which would be read without end. */
const DRAIN_POLLS_MAX = 20;

let lastShard = 0;
let lastRid = 0;

export async function openWorld(
  redisUrl: string,
  source: FunctionSource = readFunctionSource(),
): Promise<World> {
  const redis = openRedis(redisUrl, { role: 'hot', name: 'keyspace-test', onError: () => {} });
  await redisReady(redis, 10_000);
  const library = new FunctionLibrary(redis, source);
  await library.load().catch((error: unknown) => {
    redis.disconnect();
    throw error;
  });
  const epochs = new Epochs(redis, library);
  return {
    redis,
    source,
    library,
    epochs,
    tenant: () => newTenant(redis, library, epochs),
    close: () => redis.disconnect(),
  };
}

async function newTenant(
  redis: RedisConnection,
  library: FunctionLibrary,
  epochs: Epochs,
): Promise<Tenant> {
  lastShard += 1;
  assert.ok(lastShard < SHARDS);
  const accountId = lastShard;
  const shard = shardOf(accountId, SHARDS);
  const clock = { now: START_MS };
  const epochCache = new EpochCache(epochs);
  const parts = { redis, library, epochs: epochCache, shards: SHARDS, now: () => clock.now };
  await epochs.set(shard, 'e1');
  return {
    ...{
      shard,
      accountId,
      otherAccountId: accountId + SHARDS,
      keyHash: hashOf(accountId),
      clock,
      epochs,
      epochCache,
      redis,
      library,
    },
    store: new MeteringStore(parts),
    live: new LiveRecords(parts),
    rid: (ageMs = 0) => uuidV7(clock.now - ageMs),
  };
}

export function hashOf(n: number): string {
  return n.toString(16).padStart(64, '0');
}

export function uuidV7(ms: number): string {
  lastRid += 1;
  const time = ms.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${lastRid.toString(16).padStart(12, '0')}`;
}

export const SUBSCRIPTION_ID = 9;
export const KEY_ID = 5;

/** Opens an account with an enabled key without limits and `tokens` on one subscription. */
export async function openAccount(
  tenant: Tenant,
  { tokens = 1_000, ...limits }: { tokens?: number } & Partial<KeyLimits> = {},
): Promise<void> {
  await putKey(tenant, limits);
  await tenant.live.putAccount({
    accountId: tenant.accountId,
    status: 'active',
    drain: false,
    revision: 1,
  });
  await putSubscription(tenant);
  await credit(tenant, 1, tokens);
}

export async function putKey(
  tenant: Tenant,
  changes: Partial<Parameters<LiveRecords['putKey']>[0]> = {},
): Promise<void> {
  const { accountId, keyHash } = tenant;
  const reply = await tenant.live.putKey({
    ...plainKey({ accountId, keyHash, id: KEY_ID }),
    ...changes,
  });
  assert.equal(reply.kind, 'applied');
}

export async function putSubscription(
  tenant: Tenant,
  changes: Partial<Parameters<LiveRecords['putSubscription']>[0]> = {},
): Promise<void> {
  const reply = await tenant.live.putSubscription({
    ...plainSubscription({ accountId: tenant.accountId, modelId: MODEL_ID, id: SUBSCRIPTION_ID }),
    ...changes,
  });
  assert.equal(reply.kind, 'applied');
}

export async function credit(tenant: Tenant, seq: number, deltaTokens: number): Promise<void> {
  const reply = await tenant.store.credit({
    accountId: tenant.accountId,
    modelId: MODEL_ID,
    subscriptionId: SUBSCRIPTION_ID,
    seq,
    deltaTokens,
  });
  assert.equal(reply.kind, 'applied');
}

export function request(tenant: Tenant, changes: Partial<AdmitRequest> = {}): AdmitRequest {
  return {
    ...{
      rid: tenant.rid(),
      accountId: tenant.accountId,
      keyHash: tenant.keyHash,
      modelId: MODEL_ID,
      modelName: 'gpt-4',
      priceVersionId: 2,
    },
    ...{
      wantTokens: 100,
      minTokens: 10,
      addressHex: '',
      concurrencyMax: 0,
      leaseMs: 60_000,
      node: 'node-1:0',
    },
    ...changes,
  };
}

/** Admits or fails the case; answers the rid. */
export async function admitted(
  tenant: Tenant,
  changes: Partial<AdmitRequest> = {},
): Promise<string> {
  const asked = request(tenant, changes);
  const reply = await tenant.store.admit(asked);
  assert.equal(reply.kind, 'admitted', JSON.stringify(reply));
  return asked.rid;
}

export async function funds(
  tenant: Tenant,
  modelId = MODEL_ID,
): Promise<{ balance: number; held: number; running: number; status: string } | null> {
  const [found] = await tenant.live.getBalances([{ accountId: tenant.accountId, modelId }]);
  return found
    ? { balance: found.balance, held: found.held, running: found.running, status: found.status }
    : null;
}

/** Takes everything out of the outbox. */
export async function drain(
  tenant: Tenant,
): Promise<{ rid: string; seq: string; delta: string; payload: string }[]> {
  const poll = {
    owner: 'test',
    leaseMs: 60_000,
    entriesMax: 1_000,
    bytesMax: 10_000_000,
    expiredHoldsMax: 0,
  };
  const events = [];
  let relayedIds: string[] = [];
  for (let polls = 0; polls < DRAIN_POLLS_MAX; polls += 1) {
    const reply = await tenant.store.relay(tenant.shard, { ...poll, relayedIds });
    assert.equal(reply.kind, 'leased');
    if (reply.entries.length === 0) return events;
    events.push(
      ...reply.entries.map(({ rid, seq, delta, payload }) => ({ rid, seq, delta, payload })),
    );
    relayedIds = reply.entries.map((entry) => entry.outboxId);
  }
  assert.fail('the outbox is never empty');
}

/** Returns every key of the shard with its content, to show that a call changed nothing. */
export async function contents(tenant: Tenant): Promise<Record<string, string>> {
  const primaries = tenant.redis instanceof Cluster ? tenant.redis.nodes('master') : [tenant.redis];
  const found = (await Promise.all(primaries.map((primary) => primary.keys(`{${tenant.shard}}:*`))))
    .flat()
    // Looking at the clock is no change.
    .filter((key) => key !== keys.latestTime(tenant.shard));
  const dumps = await Promise.all(
    found.map(async (key) => [key, (await tenant.redis.dumpBuffer(key)).toString('hex')] as const),
  );
  return Object.fromEntries(dumps.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
