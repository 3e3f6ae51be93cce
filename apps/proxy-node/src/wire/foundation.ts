import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createControlPlaneMac,
  encryptionKeysOf,
  hashCredential,
  holdSigner,
  takesLibraryPath,
  VERSION,
} from '@tollgate/contracts';
import {
  Acknowledgements,
  BackgroundMarks,
  ConversationUses,
  EpochCache,
  Epochs,
  FleetStore,
  FunctionLanes,
  FunctionLibrary,
  memoryUse,
  MeteringStore,
  nodeAddress,
} from '@tollgate/keyspace';
import { openTracing, type Tracing } from '@tollgate/tracing';
import type { Logger } from 'pino';
import { IncidentLog } from '../observe/incident-log.ts';
import { workerCount, type Config } from '../config.ts';
import { SnapshotFile } from '../snapshot/snapshot-file.ts';
import { SnapshotFollower } from '../snapshot/snapshot-follower.ts';
import { RequestRecorder } from '../usage/request-recorder.ts';
import { openUsageQueue } from '../usage/usage-queue.ts';
import { openConnections, type Connections } from './connections.ts';

/** A node that has not reported for this long has no share of the relays. */
const PEER_AGE_MAX_MS = 10_000;

/** Holds the base of a node: its settings, log, Redis, journal and configuration. */
export interface Foundation {
  readonly config: Config;
  readonly log: Logger;
  readonly redis: Connections;
  readonly store: MeteringStore;
  readonly fleet: FleetStore;
  readonly marks: BackgroundMarks;
  readonly uses: ConversationUses;
  readonly tracing: Tracing | null;
  readonly recorder: RequestRecorder;
  readonly follower: SnapshotFollower;
  readonly incidents: IncidentLog;
}

/** Opens connections and journal. The follower starts after others listen to it. */
export async function layFoundation(config: Config, log: Logger): Promise<Foundation> {
  await mkdir(config.DATA_DIR, { recursive: true });
  const redis = await openConnections(config, log);
  const library = new FunctionLibrary(
    redis.hot,
    undefined,
    takesLibraryPath('redis_lane') ? null : new FunctionLanes(redis.hot),
  );
  const store = new MeteringStore({
    library,
    epochs: new EpochCache(new Epochs(redis.hot)),
    shards: config.SHARDS,
    signHold: holdSigner(hashCredential(config.NODE_CREDENTIAL)),
  });
  const fleet = new FleetStore({ redis: redis.plain, library });
  const tracing = await openTraces(config, log);
  const recorder = await openRecorder({ config, store, fleet, redis, tracing, log });
  const follower = new SnapshotFollower({
    source: fleet,
    file: new SnapshotFile(join(config.DATA_DIR, 'snapshot.json'), { worker: config.NODE_WORKER }),
    mac: createControlPlaneMac(encryptionKeysOf(config)),
    log,
    pullMs: config.SNAPSHOT_PULL_MS,
  });
  const marks = new BackgroundMarks({ redis: redis.plain, shards: config.SHARDS });
  const uses = new ConversationUses({ redis: redis.plain, shards: config.SHARDS });
  const incidents = new IncidentLog({
    now: Date.now,
    keepsExcerpts: config.ERROR_EXCERPTS === 'on',
  });
  return { config, log, redis, store, fleet, marks, uses, tracing, recorder, follower, incidents };
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

type RecorderParts = Pick<Foundation, 'config' | 'store' | 'fleet' | 'redis' | 'tracing' | 'log'>;

function openRecorder({
  config,
  store,
  fleet,
  redis,
  tracing,
  log,
}: RecorderParts): Promise<RequestRecorder> {
  const mac = createControlPlaneMac(encryptionKeysOf(config));
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
