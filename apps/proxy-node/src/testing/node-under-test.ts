import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { issueApiKey, parseApiKey, type NodeReport } from '@tollgate/contracts';
import { readHold, type Services, startServices, until } from '@tollgate/harness';
import {
  EpochCache,
  Epochs,
  FleetStore,
  FunctionLibrary,
  keysLike,
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
import type { SnapshotModel } from '@tollgate/snapshot';
import { pino, type Logger } from 'pino';
import { readConfig } from '../config.ts';
import { startNode, type RunningNode } from '../wire.ts';
import { journalledFinal, journalText } from './node-journal.ts';
import { ENCRYPTION_KEY, PublishedModels, type UpstreamSpec } from './published-models.ts';
import { plainKey, plainSubscription } from '../../../../libs/keyspace/test/plain-records.ts';

export { UPSTREAM_KEY, type UpstreamSpec } from './published-models.ts';

const SHARDS = 4;
const NODE_NAME = 'node-test';
const READY_MS = 5_000;

export const NODE_CREDENTIAL = randomBytes(32).toString('base64url');
export const ACCOUNT_ID = 7;

/** Starts a node in this process over a Redis of its own, with one account, and models as each test needs them. */
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
  const account = { status: 'active', drain: false, revision: 1 } as const;
  await started.live.putAccount({ accountId: ACCOUNT_ID, ...account });
  return started;
}

export class NodeUnderTest {
  readonly url: string;
  readonly apiKey: string;
  readonly node: RunningNode;
  readonly fleet: FleetStore;
  readonly live: LiveRecords;
  readonly services: Services;
  /** Holds the node's settings; another node of its fleet needs a name and a DATA_DIR of its own. */
  readonly environment: Record<string, string>;
  readonly #keyHash: string;
  readonly #redis: RedisConnection;
  readonly #store: MeteringStore;
  readonly #models: PublishedModels;

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
    this.#models = new PublishedModels(fleet);
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
    const model = await this.#models.add(upstreams, change);
    const { id } = model;
    await this.#putSubscription(id);
    if (tokens > 0) await this.#credit(id, 1, tokens);
    await until('the node has the snapshot', () => this.#isServing(this.#models.version));
    return model;
  }

  /** Credits tokens to the account's subscription, as a purchase does. */
  async credit({ id }: SnapshotModel, seq: number, tokens: number): Promise<void> {
    await this.#credit(id, seq, tokens);
    await this.#announceSubscription(id);
  }

  /** Arms auto-recharge of the account's subscription; null disarms it. */
  async arm(
    { id }: SnapshotModel,
    autoRecharge: LiveSubscription['autoRecharge'] = null,
  ): Promise<void> {
    await this.#putSubscription(id, autoRecharge);
    await this.#announceSubscription(id);
  }

  /** Ends the account's subscription at once, and takes what is left of it. */
  async unsubscribe({ id }: SnapshotModel): Promise<void> {
    await this.#store.withdraw({
      accountId: ACCOUNT_ID,
      modelId: id,
      subscriptionId: id,
      withdrawalId: randomUUIDv7(),
      drain: false,
      creditSeq: 0,
    });
    await this.#announceSubscription(id);
  }

  async #putSubscription(
    id: number,
    autoRecharge?: LiveSubscription['autoRecharge'],
  ): Promise<void> {
    await this.live.putSubscription({
      ...plainSubscription({ accountId: ACCOUNT_ID, modelId: id, id }),
      ...(autoRecharge !== undefined && { autoRecharge }),
    });
  }

  async #credit(id: number, seq: number, deltaTokens: number): Promise<void> {
    const at = { accountId: ACCOUNT_ID, modelId: id, subscriptionId: id };
    await this.#store.credit({ ...at, seq, deltaTokens });
  }

  #announceSubscription(modelId: number): Promise<void> {
    return this.fleet.announce({
      kind: 'subscription_changed',
      account_id: ACCOUNT_ID,
      model_id: modelId,
    });
  }

  /** Publishes the configuration as it is now, again; with a change, once the node has it. */
  async publish(...change: Parameters<PublishedModels['changeUpstream']> | []): Promise<void> {
    if (change.length === 0) return this.#models.publish();
    await this.#models.changeUpstream(...change);
    await until('the node has it', () => this.#isServing(this.#models.version));
  }

  /** The live balance of the account's subscription, once no request of it runs and nothing is held. */
  async settledBalance({ id: modelId }: SnapshotModel): Promise<number> {
    const read = async (): Promise<SubscriptionBalance | null | undefined> =>
      (await this.live.getBalances([{ accountId: ACCOUNT_ID, modelId }]))[0];
    // The connection of the tests may return later than the node's own.
    await redisReady(this.#redis, READY_MS);
    await until('nothing runs and nothing is held', async () => {
      const balance = await read();
      return balance?.running === 0 && balance.held === 0;
    });
    return (await read())?.balance ?? Number.NaN;
  }

  /** Returns the holds in Redis that are open, with their request ids. */
  async openHolds(): Promise<Record<string, string>[]> {
    const names = await keysLike(this.#redis, '{s*}:hold:*');
    const holds = await Promise.all(
      names.map(async (name) => ({
        rid: name.split(':').at(-1) ?? '',
        ...(await readHold(this.#redis, name)),
      })),
    );
    return holds.filter((hold: Record<string, string>) => hold['st'] === 'open');
  }

  async putKey(change: Partial<LiveKey>): Promise<{ key: string; hash: string }> {
    const { key } = issueApiKey(ACCOUNT_ID);
    const hash = parseApiKey(key)?.hash ?? '';
    await this.live.putKey(this.keyRecord({ keyHash: hash, id: this.#models.nextId(), ...change }));
    return { key, hash };
  }

  /** Adds another account, with a key, that is subscribed to these models. */
  async addAccount(accountId: number, models: SnapshotModel[] = [], tokens = 1_000_000) {
    const { key, hash } = issueApiKey(accountId);
    await this.live.putAccount({ accountId, status: 'active', drain: false, revision: 1 });
    await this.live.putKey(this.keyRecord({ accountId, keyHash: hash, id: this.#models.nextId() }));
    for (const { id: modelId } of models) {
      const id = this.#models.nextId();
      await this.live.putSubscription(plainSubscription({ accountId, modelId, id }));
      const of = { accountId, modelId, subscriptionId: id };
      await this.#store.credit({ ...of, seq: 1, deltaTokens: tokens });
    }
    return { key };
  }

  keyRecord(change: Partial<LiveKey>): LiveKey {
    return {
      ...plainKey({ accountId: ACCOUNT_ID, keyHash: this.#keyHash, id: 1 }),
      ...change,
    };
  }

  /** Returns the final of a request that has ended from the node's journal. */
  journalledFinal(rid: string | null): Promise<unknown> {
    return journalledFinal(this.environment['DATA_DIR'] ?? '', rid);
  }

  /** Returns all lines of the node's journal. */
  journalText(): Promise<string> {
    return journalText(this.environment['DATA_DIR'] ?? '');
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
    const response = await globalThis.fetch(`${this.url}/readyz`);
    const ready = (await response.json()) as { ready: boolean; snapshot_version: number | null };
    return ready.ready && ready.snapshot_version === version;
  }
}
