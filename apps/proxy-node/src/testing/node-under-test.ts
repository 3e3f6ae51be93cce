import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecretBox, issueApiKey, parseApiKey, upstreamSecretOwner, type NodeReport } from '@tollgate/contracts';
import { startServices, type Services } from '@tollgate/harness';
import { EpochCache, Epochs, FleetStore, FunctionLibrary, LiveRecords, MeteringStore, openRedis, redisReady, shardNames, type LiveKey, type SubscriptionBooks } from '@tollgate/keyspace';
import { publishSnapshot, type SnapshotDocument, type SnapshotModel, type SnapshotRoute, type SnapshotUpstream } from '@tollgate/snapshot';
import { pino } from 'pino';
import { readConfig } from '../config.ts';
import { startNode, type RunningNode } from '../wire.ts';

const SHARDS = 4;
const ENCRYPTION_KEY = randomBytes(32).toString('base64url');
const CREDENTIAL = 'a-credential-of-tests';
const UPSTREAM_KEY = 'sk-upstream-secret-0123456789';

export interface UpstreamSpec {
  baseUrl: string;
  protocol?: 'openai' | 'anthropic';
  priority?: number;
  overrides?: Partial<SnapshotUpstream>;
}

/** One node of this process over a Redis of its own, with an account, and models as each test needs them. */
export interface NodeUnderTest {
  url: string;
  apiKey: string;
  accountId: number;
  node: RunningNode;
  services: Services;
  fleet: FleetStore;
  live: LiveRecords;
  credential: string;
  upstreamKey: string;
  /** Publishes a model with these upstreams and subscribes the account; returns its name. */
  addModel(upstreams: UpstreamSpec[], model?: Partial<SnapshotModel>, tokens?: number): Promise<SnapshotModel>;
  /** Live books of the account's subscription to a model, once no request runs and nothing is held. */
  settledBooks(model: SnapshotModel): Promise<SubscriptionBooks>;
  /** Finals as the relay would carry them: the newest of the account's shard. */
  finals(): Promise<Record<string, unknown>[]>;
  putKey(change: Partial<LiveKey>): Promise<{ key: string; hash: string }>;
  report(): Promise<NodeReport | undefined>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  stop(): Promise<void>;
}

export async function startNodeUnderTest(environment: Record<string, string> = {}): Promise<NodeUnderTest> {
  const services = await startServices({ postgres: false });
  const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-node-'));
  const redis = openRedis(services.redisUrl, { role: 'plain', name: 'spec', onError: () => undefined });
  await redisReady(redis, 5_000);
  const library = new FunctionLibrary(redis);
  const epochs = new Epochs(redis);
  for (const shard of shardNames(SHARDS)) await epochs.initialise(shard, 'epoch-1');
  const cache = new EpochCache(epochs);
  const live = new LiveRecords({ redis, library, epochs: cache, shards: SHARDS });
  const store = new MeteringStore({ library, epochs: cache, shards: SHARDS });
  const fleet = new FleetStore({ redis, library });
  await fleet.setDesired('node-test', { state: 'serve' });
  const config = readConfig({
    REDIS_URL: services.redisUrl,
    ENCRYPTION_KEY,
    NODE_CREDENTIAL: CREDENTIAL,
    NODE_NAME: 'node-test',
    DATA_DIR: dataDir,
    PORT: '0',
    SHARDS: String(SHARDS),
    UPSTREAM_ALLOW_PRIVATE: '127.0.0.0/8',
    LOG_LEVEL: process.env['LOG_LEVEL'] ?? 'silent',
    DRAIN_TIMEOUT_MS: '2000',
    REPORT_MS: '200',
    ...environment,
  });
  const node = await startNode(config, pino({ level: config.LOG_LEVEL }));
  const accountId = 7;
  const { key: apiKey, hash } = issueApiKey(accountId);
  const baseKey: LiveKey = { accountId, keyHash: hash, id: 1, status: 'enabled', expiresAtMs: 0, rpm: 0, rph: 0, rpd: 0, allowedModels: '', allowlist: '', drain: false, revision: 1 };
  await live.putKey(baseKey);
  await live.putAccount({ accountId, status: 'active', drain: false, revision: 1 });
  const document: SnapshotDocument = { format: 1, models: [], upstreams: [], routes: [] };
  let version = 0;
  let nextId = 1;
  const url = `http://127.0.0.1:${node.port}`;
  const box = createSecretBox(ENCRYPTION_KEY);

  const addUpstream = ({ baseUrl, protocol = 'openai', priority = 0, overrides = {} }: UpstreamSpec, modelId: number): void => {
    const id = nextId++;
    document.upstreams.push({
      id,
      name: `upstream-${id}`,
      protocol,
      base_url: baseUrl,
      sealed_api_key: box.seal(UPSTREAM_KEY, upstreamSecretOwner(id)),
      headers: {},
      connect_timeout_ms: 1_000,
      first_token_timeout_ms: 5_000,
      idle_timeout_ms: 5_000,
      total_timeout_ms: 20_000,
      max_concurrency: null,
      ...overrides,
    });
    const route: SnapshotRoute = { id, model_id: modelId, upstream_id: id, upstream_model: `real-${id}`, priority, weight: 1, output_limit_field: 'max_tokens' };
    document.routes.push(route);
  };

  return {
    url,
    apiKey,
    accountId,
    node,
    services,
    fleet,
    live,
    credential: CREDENTIAL,
    upstreamKey: UPSTREAM_KEY,
    addModel: async (upstreams, change = {}, tokens = 1_000_000) => {
      const id = nextId++;
      const model: SnapshotModel = {
        id,
        name: `model-${id}`,
        display_name: `Model ${id}`,
        kind: 'chat',
        owned_by: 'tollgate',
        created: 1_767_225_600,
        context_window: null,
        max_output_tokens: null,
        unbounded_input_tokens: null,
        is_on_shelf: true,
        prices: [{ id, effective_at: 0, weight_input: 1_000_000, weight_output: 1_000_000, weight_cache_read: 1_000_000, weight_cache_write: 1_000_000 }],
        ...change,
      };
      document.models.push(model);
      for (const upstream of upstreams) addUpstream(upstream, id);
      version += 1;
      await fleet.publish(publishSnapshot({ version, document: structuredClone(document), publishedAtMs: Date.now() }));
      await live.putSubscription({ accountId, modelId: id, id, status: 'active', generation: 1, drain: false, revision: 1, withdrawalId: null });
      if (tokens > 0) await store.credit({ accountId, modelId: id, subscriptionId: id, seq: 1, deltaTokens: tokens });
      await until(async () => ((await (await fetch(`${url}/readyz`)).json()) as { ready: boolean; snapshot_version: number }).ready && (await versionOf(url)) === version);
      return model;
    },
    settledBooks: async (model) => {
      let books: SubscriptionBooks | null = null;
      await until(async () => {
        [books = null] = await live.getBooks([{ accountId, modelId: model.id }]);
        return books !== null && books.running === 0 && books.held === 0;
      });
      return books as unknown as SubscriptionBooks;
    },
    finals: async () => {
      // The relay empties the outbox into BullMQ, whose jobs nobody takes here.
      const ids = (await redis.keys('{bull}:usage:*')).filter((name) => /:\d+$/.test(name));
      const jobs = await Promise.all(ids.map((name) => redis.hget(name, 'data')));
      return jobs.flatMap((data) => (JSON.parse(data ?? '{"events":[]}') as { events: { rid: string; delta: string; payload: string }[] }).events).map((event) => ({ rid: event.rid, delta: Number(event.delta), ...(JSON.parse(event.payload) as object) }));
    },
    putKey: async (change) => {
      const { key } = issueApiKey(accountId);
      const parsed = parseApiKey(key);
      if (!parsed) throw new Error('a fresh key must parse');
      const id = nextId++;
      await live.putKey({ ...baseKey, keyHash: parsed.hash, id, ...change });
      return { key, hash: parsed.hash };
    },
    report: async () => (await fleet.listReports({ nowMs: Date.now(), ageMaxMs: 60_000 }))[0],
    post: (path, body, headers = {}) =>
      fetch(`${url}${path}`, { method: 'POST', headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers }, body: typeof body === 'string' ? body : JSON.stringify(body) }),
    stop: async () => {
      await node.stop();
      redis.disconnect();
      await services.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function versionOf(url: string): Promise<number | null> {
  return ((await (await fetch(`${url}/readyz`)).json()) as { snapshot_version: number | null }).snapshot_version;
}

/** Waits for what is promised to happen; throws when it does not within 10 s. */
export async function until(isTrue: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error('what was promised did not happen within 10 s');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
