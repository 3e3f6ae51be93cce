import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createControlPlaneMac,
  createSecretBox,
  issueApiKey,
  parseApiKey,
  type NodeReport,
  type UpstreamProtocol,
} from '@tollgate/contracts';
import { startServices, type Services } from '@tollgate/harness';
import {
  EpochCache,
  Epochs,
  FleetStore,
  FunctionLibrary,
  LiveRecords,
  MeteringStore,
  openRedis,
  redisReady,
  shardNames,
  type LiveKey,
  type LiveSubscription,
  type RedisConnection,
  type SubscriptionBalance,
} from '@tollgate/keyspace';
import {
  publishSnapshot,
  sealSnapshot,
  type SnapshotDocument,
  type SnapshotModel,
  type SnapshotUpstream,
} from '@tollgate/snapshot';
import { pino, type Logger } from 'pino';
import { readConfig } from '../config.ts';
import { startNode, type RunningNode } from '../wire.ts';

const SHARDS = 4;
const NODE_NAME = 'node-test';
const ENCRYPTION_KEY = randomBytes(32).toString('base64url');
const INSTALLATION = randomUUID();
const WEIGHT = 1_000_000;
const READY_MS = 5_000;

export const NODE_CREDENTIAL = randomBytes(32).toString('base64url');
export const UPSTREAM_KEY = 'sk-upstream-secret-0123456789';
export const ACCOUNT_ID = 7;

export interface UpstreamSpec {
  baseUrl: string;
  protocol?: UpstreamProtocol;
  priority?: number;
  /** `real-<id>` unless given. */
  upstreamModel?: string;
  /** `max_tokens` unless given. */
  outputLimitField?: 'max_tokens' | 'max_completion_tokens';
  overrides?: Partial<SnapshotUpstream>;
}

/** A node of this process over a Redis of its own, with one account, and models as each test needs them. */
export async function startNodeUnderTest(
  environment: Record<string, string> = {},
  log?: Logger,
): Promise<NodeUnderTest> {
  const services = await startServices({ postgres: false });
  const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-node-'));
  const redis = openRedis(services.redisUrl, {
    role: 'plain',
    name: 'spec',
    onError: () => undefined,
  });
  await redisReady(redis, READY_MS);
  const library = new FunctionLibrary(redis);
  const epochs = new Epochs(redis);
  for (const shard of shardNames(SHARDS)) await epochs.initialise(shard, 'epoch-1');
  const fleet = new FleetStore({ redis, library });
  await fleet.setDesired(NODE_NAME, { state: 'serve' });
  const settings = {
    REDIS_URL: services.redisUrls.node,
    REDIS_QUEUE_URL: services.redisUrls.queue,
    ENCRYPTION_KEY,
    NODE_CREDENTIAL,
    NODE_NAME,
    DATA_DIR: dataDir,
    PORT: '0',
    SHARDS: String(SHARDS),
    UPSTREAM_ALLOW_PRIVATE: '127.0.0.0/8',
    LOG_LEVEL: process.env['LOG_LEVEL'] ?? 'silent',
    DRAIN_TIMEOUT_MS: '2000',
    REPORT_MS: '200',
    ...environment,
  };
  const config = readConfig(settings);
  const node = await startNode(config, log ?? pino({ level: config.LOG_LEVEL }));
  const started = new NodeUnderTest({
    node,
    services,
    redis,
    fleet,
    environment: settings,
    library,
  });
  await started.live.putKey(started.keyRecord({}));
  await started.live.putAccount({
    accountId: ACCOUNT_ID,
    status: 'active',
    drain: false,
    revision: 1,
  });
  return started;
}

export class NodeUnderTest {
  readonly url: string;
  readonly apiKey: string;
  readonly node: RunningNode;
  readonly fleet: FleetStore;
  readonly live: LiveRecords;
  readonly services: Services;
  /** The node's settings; another node of its fleet needs a name and a DATA_DIR of its own. */
  readonly environment: Record<string, string>;
  readonly #keyHash: string;
  readonly #redis: RedisConnection;
  readonly #store: MeteringStore;
  readonly #box = createSecretBox({ current: ENCRYPTION_KEY });
  readonly #document: SnapshotDocument = { format: 1, models: [], upstreams: [], routes: [] };
  readonly #mac = createControlPlaneMac({ current: ENCRYPTION_KEY });
  #version = 0;
  #lastId = 1;

  constructor({
    node,
    services,
    redis,
    fleet,
    environment,
    library,
  }: {
    node: RunningNode;
    services: Services;
    redis: RedisConnection;
    fleet: FleetStore;
    environment: Record<string, string>;
    library: FunctionLibrary;
  }) {
    const issued = issueApiKey(ACCOUNT_ID);
    const epochs = new EpochCache(new Epochs(redis));
    this.url = `http://127.0.0.1:${node.port}`;
    this.apiKey = issued.key;
    this.#keyHash = issued.hash;
    this.node = node;
    this.services = services;
    this.fleet = fleet;
    this.live = new LiveRecords({ redis, library, epochs, shards: SHARDS });
    this.#redis = redis;
    this.#store = new MeteringStore({ library, epochs, shards: SHARDS });
    this.environment = environment;
  }

  /** Publishes a model with these upstreams, subscribes the account to it, and waits until the node knows. */
  async addModel(
    upstreams: UpstreamSpec[],
    change: Partial<SnapshotModel> = {},
    tokens = 1_000_000,
  ): Promise<SnapshotModel> {
    const id = this.#nextId();
    const prices = [
      {
        id,
        effective_at: 0,
        weight_input: WEIGHT,
        weight_output: WEIGHT,
        weight_cache_read: WEIGHT,
        weight_cache_write: WEIGHT,
      },
    ];
    const kind = {
      kind: 'chat' as const,
      owned_by: 'tollgate',
      created: 1_767_225_600,
      context_window: null,
      max_output_tokens: null,
      unbounded_input_tokens: null,
    };
    const model: SnapshotModel = {
      id,
      name: `model-${id}`,
      display_name: `Model ${id}`,
      ...kind,
      is_on_shelf: true,
      prices,
      ...change,
    };
    this.#document.models.push(model);
    for (const upstream of upstreams) this.#addUpstream(upstream, id);
    this.#version += 1;
    await this.publish();
    await this.live.putSubscription({
      accountId: ACCOUNT_ID,
      modelId: id,
      id,
      status: 'active',
      generation: 1,
      drain: false,
      revision: 1,
      withdrawalId: null,
    });
    if (tokens > 0)
      await this.#store.credit({
        accountId: ACCOUNT_ID,
        modelId: id,
        subscriptionId: id,
        seq: 1,
        deltaTokens: tokens,
      });
    await until(() => this.#isServing(this.#version));
    return model;
  }

  /** Credits tokens to the account's subscription, as a purchase does. */
  async credit({ id }: SnapshotModel, seq: number, tokens: number): Promise<void> {
    await this.#store.credit({
      accountId: ACCOUNT_ID,
      modelId: id,
      subscriptionId: id,
      seq,
      deltaTokens: tokens,
    });
    await this.#announceSubscription(id);
  }

  /** Auto-recharge of the account's subscription; null = not armed. */
  async arm(
    { id }: SnapshotModel,
    autoRecharge: LiveSubscription['autoRecharge'] = null,
  ): Promise<void> {
    await this.live.putSubscription({
      accountId: ACCOUNT_ID,
      modelId: id,
      id,
      status: 'active',
      generation: 1,
      drain: false,
      revision: 1,
      withdrawalId: null,
      autoRecharge,
    });
    await this.#announceSubscription(id);
  }

  #announceSubscription(modelId: number): Promise<void> {
    return this.fleet.announce({
      kind: 'subscription_changed',
      account_id: ACCOUNT_ID,
      model_id: modelId,
    });
  }

  /** As the control plane does: the document as it is now, sealed. */
  async publish(): Promise<void> {
    const snapshot = publishSnapshot({
      version: this.#version,
      document: structuredClone(this.#document),
      publishedAtMs: Date.now(),
    });
    const { version, checksum } = snapshot;
    const seal = { installation: INSTALLATION, lineage: 1, version, checksum };
    await this.fleet.publish(snapshot, sealSnapshot(this.#mac, seal));
  }

  /** The live balance of the account's subscription, once no request of it runs and nothing is held. */
  async settledBalance({ id: modelId }: SnapshotModel): Promise<number> {
    const read = async (): Promise<SubscriptionBalance | null | undefined> =>
      (await this.live.getBalances([{ accountId: ACCOUNT_ID, modelId }]))[0];
    // The connection of the tests may return later than the node's own.
    await redisReady(this.#redis, READY_MS);
    await until(async () => {
      const balance = await read();
      return balance?.running === 0 && balance.held === 0;
    });
    return (await read())?.balance ?? Number.NaN;
  }

  /** Holds in Redis that are open, with their request ids. */
  async openHolds(): Promise<Record<string, string>[]> {
    const names = await this.#redis.keys('{s*}:hold:*');
    const holds = await Promise.all(
      names.map(async (name) => ({
        rid: name.split(':').at(-1) ?? '',
        ...(await this.#redis.hgetall(name)),
      })),
    );
    return holds.filter((hold: Record<string, string>) => hold['st'] === 'open');
  }

  async putKey(change: Partial<LiveKey>): Promise<{ key: string; hash: string }> {
    const { key } = issueApiKey(ACCOUNT_ID);
    const hash = parseApiKey(key)?.hash ?? '';
    await this.live.putKey(this.keyRecord({ keyHash: hash, id: this.#nextId(), ...change }));
    return { key, hash };
  }

  /** Another account, with a key, that is subscribed to nothing. */
  async addAccount(accountId: number): Promise<{ key: string }> {
    const { key, hash } = issueApiKey(accountId);
    await this.live.putAccount({ accountId, status: 'active', drain: false, revision: 1 });
    await this.live.putKey(this.keyRecord({ accountId, keyHash: hash, id: this.#nextId() }));
    return { key };
  }

  keyRecord(change: Partial<LiveKey>): LiveKey {
    return {
      accountId: ACCOUNT_ID,
      keyHash: this.#keyHash,
      id: 1,
      status: 'enabled',
      expiresAtMs: 0,
      rpm: 0,
      rph: 0,
      rpd: 0,
      allowedModels: '',
      allowlist: '',
      drain: false,
      revision: 1,
      ...change,
    };
  }

  /** What the node's journal says of a request that has ended. */
  async journalledFinal(rid: string | null): Promise<unknown> {
    const line =
      (await this.journalText())
        .split('\n')
        .find((each) => each.includes('"t":"F"') && each.includes(`"rid":"${rid}"`)) ?? '';
    const { final } = JSON.parse(line.slice(line.indexOf('{'), line.lastIndexOf('}') + 1)) as {
      final: unknown;
    };
    return final;
  }

  /** All lines of the node's journal. */
  async journalText(): Promise<string> {
    const folder = join(this.environment['DATA_DIR'] ?? '', 'journals');
    // Nothing else there may be opened: closing lock.db would give the node's lock back.
    const names = (await readdir(folder, { recursive: true })).filter((name) =>
      name.endsWith('.journal'),
    );
    const texts = await Promise.all(
      names.map((name) => readFile(join(folder, name), 'utf8').catch(() => '')),
    );
    return texts.join('\n');
  }

  async report(): Promise<NodeReport | undefined> {
    return (await this.fleet.listReports({ nowMs: Date.now(), ageMaxMs: 60_000 }))[0];
  }

  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return globalThis.fetch(`${this.url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.apiKey}`,
        'content-type': 'application/json',
        ...headers,
      },
      body: text,
    });
  }

  async stop(): Promise<void> {
    // No control plane of these tests would acknowledge usage.
    await this.node.stop({ handOverMs: 0 });
    this.#redis.disconnect();
    await this.services.stop();
    await rm(this.environment['DATA_DIR'] ?? '', { recursive: true, force: true });
  }

  async #isServing(version: number): Promise<boolean> {
    const ready = (await (await globalThis.fetch(`${this.url}/readyz`)).json()) as {
      ready: boolean;
      snapshot_version: number | null;
    };
    return ready.ready && ready.snapshot_version === version;
  }

  #addUpstream(
    {
      baseUrl,
      protocol = 'openai',
      priority = 0,
      upstreamModel,
      outputLimitField = 'max_tokens',
      overrides = {},
    }: UpstreamSpec,
    modelId: number,
  ): void {
    const id = this.#nextId();
    const deadlines = {
      connect_timeout_ms: 1_000,
      first_token_timeout_ms: 5_000,
      idle_timeout_ms: 5_000,
      total_timeout_ms: 20_000,
    };
    const sealed = this.#box.seal(UPSTREAM_KEY, { upstreamId: id, baseUrl }, 'v2');
    this.#document.upstreams.push({
      id,
      name: `upstream-${id}`,
      protocol,
      base_url: baseUrl,
      sealed_api_key: sealed,
      headers: {},
      ...deadlines,
      max_concurrency: null,
      ...overrides,
    });
    this.#document.routes.push({
      id,
      model_id: modelId,
      upstream_id: id,
      upstream_model: upstreamModel ?? `real-${id}`,
      priority,
      weight: 1,
      output_limit_field: outputLimitField,
    });
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }
}

/** Waits for what is promised to happen; throws when it does not within 10 s, or `withinMs`. */
export async function until(isTrue: () => Promise<boolean>, withinMs = 10_000): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await isTrue())) {
    if (Date.now() > deadline)
      throw new Error(`what was promised did not happen within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
