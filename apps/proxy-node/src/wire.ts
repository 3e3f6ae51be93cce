import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  createControlPlaneMac,
  createIdSealer,
  createSecretBox,
  encryptionKeysOf,
  parseOutboundPolicy,
  type ControlPlaneMac,
  VERSION,
  type FleetMessage,
} from '@tollgate/contracts';
import {
  Acknowledgements,
  BackgroundMarks,
  EpochCache,
  Epochs,
  FleetStore,
  FunctionLanes,
  FunctionLibrary,
  memoryUse,
  MeteringStore,
  nodeAddress,
  onRedisReturn,
  openRedis,
  redisReady,
  type ConnectionRole,
  type RedisConnection,
} from '@tollgate/keyspace';
import { openTracing, type Tracing } from '@tollgate/tracing';
import type { Logger } from 'pino';
import { monotonicMs } from './monotonic-ms.ts';
import { BackgroundGuard } from './endpoints/background-guard.ts';
import { CountRelay } from './endpoints/count-relay.ts';
import { CountingLane } from './endpoints/counting-lane.ts';
import { StoredRelay } from './endpoints/stored-relay.ts';
import { BackgroundRuns } from './background/background-runs.ts';
import { createApp } from './app.ts';
import { workerCount, type Config } from './config.ts';
import { BodyQuota } from './http/body-quota.ts';
import { parseRanges } from '@tollgate/contracts';
import { Cors } from './http/cors.ts';
import { createHttpServer, listen } from './http/server.ts';
import { Observer } from './observe/observer.ts';
import { fleetListener } from './fleet/fleet-listener.ts';
import { Gate } from './pipeline/gate.ts';
import { Metrics } from './operations/metrics.ts';
import { composeDump } from './fleet/node-dump.ts';
import { NodeReporter } from './fleet/node-reporter.ts';
import { nodeTables } from './fleet/node-tables.ts';
import { Operations } from './operations/operations.ts';
import { RefusalLog } from './operations/refusal-log.ts';
import { stopNode, type StopParts } from './operations/stop-node.ts';
import { joinScrapes, type PrimaryPort } from './workers/worker-scrape.ts';
import { Admitter } from './pipeline/admit.ts';
import { DenyCache } from './pipeline/deny-cache.ts';
import { Failover } from './pipeline/failover.ts';
import { Forwarder } from './pipeline/forward.ts';
import { Pipeline } from './pipeline/pipeline.ts';
import { RechargeWaits } from './pipeline/recharge-waits.ts';
import { ReasoningRates } from './pipeline/reasoning-rates.ts';
import { SessionAffinity } from './pipeline/session-affinity.ts';
import { SnapshotFile } from './snapshot/snapshot-file.ts';
import { SnapshotFollower } from './snapshot/snapshot-follower.ts';
import { RestNews } from './upstream/rest-news.ts';
import { openerFor } from './upstream/stored-ids.ts';
import { SideCalls } from './upstream/side-calls.ts';
import { Ticker } from './upstream/ticker.ts';
import { UpstreamHealth, type RestBegun } from './upstream/upstream-health.ts';
import { UpstreamTrust } from './upstream/upstream-trust.ts';
import { UpstreamPools } from './upstream/upstream-pools.ts';
import { openUsageQueue } from './usage/usage-queue.ts';
import { RequestRecorder } from './usage/request-recorder.ts';

const SOFTWARE = `tollgate/${VERSION}`;
/** A node that said nothing for so long has no share of the relays. */
const PEER_AGE_MAX_MS = 10_000;
const REDIS_WAIT_MS = 2_000;
/** A worker of a node that is stopped, or not registered yet, listens after this all the same: it has health to tell. */
const JOIN_MS = 3_000;
const JOIN_POLL_MS = 20;

export interface RunningNode {
  port: number;
  /** Takes no more requests, lets running ones finish within the drain time, hands its usage over, and lets go of everything. */
  stop(options?: Pick<StopParts, 'handOverMs'>): Promise<void>;
}

/**
 * The only place where parts are made and joined. With a `primary` others serve on the same port already, so this one joins them only when it can
 * serve too, or when the fleet has had time to report that it must not.
 */
export async function startNode(
  config: Config,
  log: Logger,
  primary: PrimaryPort | null = null,
): Promise<RunningNode> {
  await mkdir(config.DATA_DIR, { recursive: true });
  const redis = openConnections(config, log);
  // Bounded: without Redis a node starts too, and serves from what it has as soon as Redis returns.
  await Promise.all(
    [redis.hot, redis.plain].map((connection) =>
      redisReady(connection, REDIS_WAIT_MS).catch(() =>
        log.warn({ wait_ms: REDIS_WAIT_MS }, 'Redis does not answer yet; starting without it'),
      ),
    ),
  );
  const library = new FunctionLibrary(redis.hot, undefined, new FunctionLanes(redis.hot));
  const store = new MeteringStore({
    library,
    epochs: new EpochCache(new Epochs(redis.hot)),
    shards: config.SHARDS,
  });
  const fleet = new FleetStore({ redis: redis.plain, library });
  const mac = createControlPlaneMac(encryptionKeysOf(config));
  const tracing = await openTraces(config, log);
  const recorder = await openRecorder({ config, store, fleet, redis, mac, tracing, log });
  const follower = new SnapshotFollower({
    source: fleet,
    file: new SnapshotFile(join(config.DATA_DIR, 'snapshot.json'), { worker: config.NODE_WORKER }),
    mac,
    log,
    pullMs: config.SNAPSHOT_PULL_MS,
  });
  const heard: { report?: () => void } = {};
  const serving = createServing({
    config,
    store,
    marks: new BackgroundMarks({ redis: redis.plain, shards: config.SHARDS }),
    recorder,
    follower,
    primary,
    tracing,
    log,
    onUpstreamOpened: () => heard.report?.(),
    // A lost word costs other workers a few failures of their own.
    announce: (message) => void fleet.announce(message).catch(() => undefined),
  });
  const reporter = followFleet({
    config,
    fleet,
    subscriber: redis.subscriber,
    recorder,
    follower,
    serving,
    log,
  });
  // An upstream that fails is reported at once, not with the next heartbeat.
  heard.report = () => void reporter.report();
  // At the first start and after each outage: what was missed meanwhile is caught up with at once.
  onRedisReturn(redis.plain, () => void follower.pull().then(() => reporter.report()));
  await follower.start();
  for (const run of recorder.adopted) serving.background.take(run);
  reporter.start();
  const server = createHttpServer(serving.app, {
    headerBytesMax: config.HEADER_BYTES_MAX,
    headerTimeoutMs: config.HEADER_TIMEOUT_MS,
    bodyTimeoutMs: config.BODY_TIMEOUT_MS,
  });
  if (primary) await untilReady(serving.operations);
  const port = await listen(server, { host: config.HOST, port: config.PORT });
  const { gate, pipeline, pools, background } = serving;
  const disconnect = async (): Promise<void> => {
    Object.values(redis).forEach((connection) => connection.disconnect());
    await tracing?.close();
  };
  return {
    port,
    stop: ({ handOverMs } = {}) =>
      stopNode({
        server,
        gate,
        pipeline,
        reporter,
        follower,
        background,
        recorder,
        pools,
        disconnect,
        noticeMs: config.DRAIN_NOTICE_MS,
        drainTimeoutMs: config.DRAIN_TIMEOUT_MS,
        handOverMs,
        log,
      }),
  };
}

function openTraces(config: Config, log: Logger): Promise<Tracing | null> {
  const { NODE_NAME: name, NODE_WORKER: worker } = config;
  const service = {
    name: 'tollgate-proxy-node',
    version: VERSION,
    instance: nodeAddress(name, worker),
  };
  return openTracing(config, service, (error) =>
    log.warn({ err: error }, 'traces could not be delivered'),
  );
}

async function untilReady(operations: Operations): Promise<void> {
  const deadline = monotonicMs() + JOIN_MS;
  while (!operations.readiness().ready && monotonicMs() < deadline) await delay(JOIN_POLL_MS);
}

type Connections = Record<'hot' | 'plain' | 'blocking' | 'subscriber' | 'queue', RedisConnection>;

function openConnections(config: Config, log: Logger): Connections {
  const open = (role: ConnectionRole, url = config.REDIS_URL): RedisConnection =>
    openRedis(url, {
      role,
      name: `${config.NODE_NAME}:${config.NODE_WORKER}:${role}`,
      onError: (error) => log.warn({ err: error, role }, 'Redis connection error'),
    });
  return {
    hot: open('hot'),
    plain: open('plain'),
    blocking: open('blocking'),
    subscriber: open('subscriber'),
    // BullMQ's keys are another user's.
    queue: open('plain', config.REDIS_QUEUE_URL),
  };
}

interface RecorderParts {
  config: Config;
  store: MeteringStore;
  fleet: FleetStore;
  redis: Connections;
  mac: ControlPlaneMac;
  tracing: Tracing | null;
  log: Logger;
}

function openRecorder(parts: RecorderParts): Promise<RequestRecorder> {
  const { config, store, fleet, redis, mac, tracing, log } = parts;
  return RequestRecorder.open({
    dataDir: config.DATA_DIR,
    node: config.NODE_NAME,
    worker: config.NODE_WORKER,
    shards: config.SHARDS,
    leaseMs: config.HOLD_LEASE_MS,
    metering: store,
    redis: redis.hot,
    acknowledgements: new Acknowledgements({ redis: redis.plain, mac }),
    blocking: redis.blocking,
    queue: openUsageQueue(redis.queue, log),
    controlPlaneUrl: config.CONTROL_PLANE_URL,
    credential: config.NODE_CREDENTIAL,
    memoryUse: () => memoryUse(redis.plain),
    rechargeWaitMs: config.RECHARGE_WAIT_MS,
    failOpenTokens: Math.floor(config.FAIL_OPEN_TOKENS / workerCount(config)),
    peers: async () =>
      (await fleet.listReports({ nowMs: Date.now(), ageMaxMs: PEER_AGE_MAX_MS }))
        .map(({ name, worker }) => nodeAddress(name, worker))
        .sort(),
    tracing,
    log,
  });
}

type Serving = ReturnType<typeof createServing>;

function createServing({
  config,
  store,
  marks,
  recorder,
  follower,
  primary,
  tracing,
  log,
  onUpstreamOpened,
  announce,
}: {
  config: Config;
  store: MeteringStore;
  marks: BackgroundMarks;
  recorder: RequestRecorder;
  follower: SnapshotFollower;
  primary: PrimaryPort | null;
  tracing: Tracing | null;
  log: Logger;
  onUpstreamOpened: () => void;
  announce: (message: FleetMessage) => void;
}) {
  const node = nodeAddress(config.NODE_NAME, config.NODE_WORKER);
  const gate = new Gate(() => follower.current);
  const secrets = createSecretBox(encryptionKeysOf(config));
  const ids = createIdSealer(encryptionKeysOf(config));
  const pools = new UpstreamPools({
    policy: parseOutboundPolicy(config.UPSTREAM_ALLOW_PRIVATE),
    openSecret: (sealed, place) => secrets.open(sealed, place),
  });
  const restNews = new RestNews({ announce, by: node });
  const health = new UpstreamHealth({
    onRested: (begun) => {
      noteRest(log, begun);
      restNews.rested(begun);
      // After this turn, in which the rest is still being begun.
      setImmediate(onUpstreamOpened);
    },
    onRecovered: (route) => restNews.recovered(route),
  });
  const trust = new UpstreamTrust(log);
  const affinity = new SessionAffinity();
  const ticker = new Ticker();
  const denials = new DenyCache(config.DENY_CACHE_MAX);
  const waits = new RechargeWaits({
    waitMs: config.RECHARGE_WAIT_MS,
    waitersMax: config.RECHARGE_WAITERS_MAX,
    hint: (hint) => recorder.refusedForFunds(hint),
  });
  const metrics = new Metrics({
    credential: config.METRICS_CREDENTIAL ?? config.NODE_CREDENTIAL,
    worker: config.NODE_WORKER,
    modelsMax: config.METRICS_MODELS_MAX,
    readings: {
      gate,
      isReady: () => gate.isReady && recorder.unreadiness === null,
      recorder: () => recorder.state,
      background: () => background.size,
      failOpen: () => recorder.failOpen.state,
      snapshotVersion: () => follower.current?.snapshot.version ?? 0,
      upstreams: () => health.dump(monotonicMs()),
    },
  });
  const admitter = new Admitter({
    store,
    recorder,
    denials,
    waits,
    limits: {
      concurrencyMax: config.CONCURRENCY_PER_SUBSCRIPTION_MAX,
      leaseMs: config.HOLD_LEASE_MS,
      sliceOutputTokens: config.STREAM_SLICE_OUTPUT_TOKENS,
    },
    node,
    log,
  });
  const calls = new SideCalls({ pools, ticker, answerBytesMax: config.ANSWER_BYTES_MAX });
  const background = new BackgroundRuns({
    calls,
    marks,
    trust,
    upstreamById: (id) => follower.current?.upstreamById(id),
    onFinal: (rid, final) =>
      metrics.ended(rid, final, follower.current?.modelById(final.model_id)?.name ?? ''),
    node,
    lifeMs: config.BACKGROUND_MS_MAX,
    pollMs: config.BACKGROUND_POLL_MS,
    log,
  });
  const bodies = new BodyQuota(config.BODY_BYTES_MAX);
  const forwarder = new Forwarder({
    pools,
    health,
    ticker,
    ids,
    limits: { answerBytesMax: config.ANSWER_BYTES_MAX, errorBytesMax: config.ERROR_BYTES_MAX },
  });
  const pipeline = new Pipeline({
    gate,
    bodies,
    admitter,
    failover: new Failover({ forwarder, health, affinity, attemptsMax: config.ATTEMPTS_MAX }),
    trust,
    ticker,
    reasoning: new ReasoningRates(),
    log,
    node,
    limits: {
      bodyBytesMax: config.BODY_BYTES_MAX,
      passesFiles: config.FILES_BY_ID === 'pass',
      keepAliveMs: config.KEEP_ALIVE_MS,
      drain: {
        jsonMs: config.JSON_DRAIN_MS,
        streamMs: config.STREAM_DRAIN_MS,
        streamTokens: config.STREAM_DRAIN_TOKENS,
      },
    },
    newRid: randomUUIDv7,
    openerOf: (keys) => openerFor(ids, keys),
    background,
    onFinal: (rid, final, { model }) => metrics.ended(rid, final, model.name),
    refusals: new RefusalLog({
      log,
      count: (refused) => metrics.refused(refused),
      now: monotonicMs,
    }),
  });
  const operations = new Operations({
    gate,
    follower,
    metrics,
    scrape: primary ? joinScrapes(primary, () => metrics.text()) : () => metrics.text(),
    meteringRefusal: () => recorder.unreadiness,
    log,
  });
  const app = createApp({
    pipeline,
    bodies,
    counting: new CountingLane(),
    counts: new CountRelay({ pools, ticker, ids }),
    stored: new StoredRelay({ calls, ticker, keepAliveMs: config.KEEP_ALIVE_MS }),
    guard: new BackgroundGuard({ marks, runs: background }),
    sealer: ids,
    admitter,
    operations,
    newRid: randomUUIDv7,
    trustedProxies: parseRanges(config.TRUSTED_PROXIES),
    clientStallMs: config.CLIENT_STALL_TIMEOUT_MS,
    bodyBytesMax: config.BODY_BYTES_MAX,
    passesFiles: config.FILES_BY_ID === 'pass',
    cors: new Cors({ origins: config.CORS_ORIGINS, exposed: config.CORS_EXPOSED_HEADERS }),
    observer: Observer.of(tracing, config.ACCESS_LOG === 'on' ? log : null),
  });
  return {
    app,
    operations,
    gate,
    pipeline,
    background,
    pools,
    health,
    restNews,
    trust,
    affinity,
    denials,
    waits,
  };
}

function noteRest(
  log: Logger,
  { upstreamId, routeId, failuresInRow, restMs, why }: RestBegun,
): void {
  // A rate limit is daily work; a provider that keeps failing is not.
  const level = why === 'rate_limited' ? 'info' : 'warn';
  log[level](
    {
      upstream_id: upstreamId,
      route_id: routeId,
      failures_in_row: failuresInRow,
      rest_ms: restMs,
      why,
    },
    'a route rests',
  );
}

interface FleetParts {
  config: Config;
  fleet: FleetStore;
  subscriber: RedisConnection;
  recorder: RequestRecorder;
  follower: SnapshotFollower;
  serving: Serving;
  log: Logger;
}

function followFleet({
  config,
  fleet,
  subscriber,
  recorder,
  follower,
  serving,
  log,
}: FleetParts): NodeReporter {
  const { gate, pools, health, trust, restNews, affinity, denials, waits } = serving;
  const identity = {
    name: config.NODE_NAME,
    worker: config.NODE_WORKER,
    instance: randomUUID(),
    url: config.PUBLIC_URL ?? null,
    credential: config.NODE_CREDENTIAL,
    software: SOFTWARE,
    startedAtMs: Date.now(),
  };
  const reporter = new NodeReporter({
    fleet,
    gate,
    follower,
    unacknowledged: () => recorder.state.unacknowledged,
    journalsSetAside: () => recorder.state.journalsSetAside,
    failingUpstreams: () => health.failing(monotonicMs()),
    doubtedUpstreams: () => trust.doubted(monotonicMs()),
    identity,
    periodMs: config.REPORT_MS,
    log,
  });
  follower.onApplied(({ snapshot: { document } }) => {
    const upstreamIds = new Set(document.upstreams.map(({ id }) => id));
    pools.retain(upstreamIds);
    trust.retain(upstreamIds);
    health.retain(document);
    void reporter.report();
  });
  const tables = nodeTables({
    follower,
    health,
    trust,
    affinity,
    denials,
    denialsMax: config.DENY_CACHE_MAX,
    waits,
    waitersMax: config.RECHARGE_WAITERS_MAX,
  });
  const listener = fleetListener({
    name: config.NODE_NAME,
    follower,
    reporter,
    dump: (request) => fleet.writeDump(composeDump(tables, request, identity)),
    keyChanged: (keyHash) => denials.forget(keyHash),
    subscriptionChanged: (subscription) => waits.changed(subscription),
    shardFilled: (shard, epoch) => recorder.shardFilled(shard, epoch),
    rest: (message) => restNews.hear(message, health, monotonicMs()),
    log,
  });
  fleet
    .subscribe(subscriber, listener)
    .catch((error: unknown) =>
      log.error({ err: error }, 'the fleet channel cannot be followed; pulling only'),
    );
  return reporter;
}
