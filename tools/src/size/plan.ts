import type { Measured, Storage } from './measured.ts';

/** Memory of an open stream (bench/results.md, scenario `streams`). */
const STREAM_BYTES = 130_000;
/** SHARDS is 1,024 at most; with fewer than four shards each, primaries are loaded unevenly. */
const SHARDS_PER_PRIMARY = 4;
const PRIMARIES_MAX = 1_024 / SHARDS_PER_PRIMARY;
const DAY_SECONDS = 86_400;

/** Holds what an installation must carry. Rates a second, sizes in bytes, times in seconds. */
export interface Load {
  rps: number;
  streamShare: number;
  /** Events of a stream. */
  events: number;
  streamSeconds: number;
  jsonSeconds: number;
  requestBytes: number;
  eventBytes: number;
  retentionDays: number;
  /** Share of a core that is planned for; the rest is for peaks. */
  utilisation: number;
  workersPerNode: number;
  shards: number;
  /** Counts the cores of the largest PostgreSQL server to be had. */
  postgresCoresMax: number;
}

export interface Plan {
  nodeCores: number;
  workers: number;
  /** One more than the load needs, so that one may be lost or replaced. */
  nodes: number;
  openRequests: number;
  memoryBytesPerNode: number;
  redisCores: number;
  redisPrimaries: number;
  controlPlaneCores: number;
  controlPlanes: number;
  postgresCores: number;
  /** Null while it was not measured. */
  storage: StoragePlan | null;
  networkBytesPerSecond: number;
  /** Installations, with accounts divided between them, when one PostgreSQL server or one Redis Cluster is not enough. */
  cells: number;
  notes: string[];
}

export interface StoragePlan {
  commitsPerSecond: number;
  walBytesPerSecond: number;
  tableBytesPerDay: number;
  tableBytesKept: number;
}

/** The arithmetic of docs/sizing.md. */
export function planFor(load: Load, measured: Measured): Plan {
  const { rps, streamShare, utilisation } = load;
  const mixed = (json: number, stream: number): number =>
    rps * ((1 - streamShare) * json + streamShare * stream);
  const cores = (json: number, stream = json): number => mixed(json, stream) / 1e6;
  const processes = (each: number, least: number): number =>
    Math.max(least, Math.ceil(each / utilisation));

  const nodeCores = cores(
    measured.nodeJsonUs,
    measured.nodeStreamUs + load.events * measured.nodeEventUs,
  );
  const workers = processes(nodeCores, 1);
  const nodes = Math.ceil(workers / load.workersPerNode) + 1;
  const openRequests = mixed(load.jsonSeconds, load.streamSeconds);
  const redisCores = cores(measured.redisJsonUs, measured.redisStreamUs);
  const redisPrimaries = processes(redisCores, 1);
  const controlPlaneCores = cores(measured.controlPlaneUs);
  const postgresCores = cores(measured.postgresUs);
  const answerBytes = load.events * load.eventBytes;
  const plan = {
    nodeCores,
    workers,
    nodes,
    openRequests,
    memoryBytesPerNode:
      load.workersPerNode * measured.nodeBytes + (openRequests / (nodes - 1)) * STREAM_BYTES,
    redisCores,
    redisPrimaries,
    controlPlaneCores,
    controlPlanes: processes(controlPlaneCores, 2),
    postgresCores,
    storage: measured.storage && storagePlan(load, measured.storage),
    // Each byte passes a node twice: from one side, to the other.
    networkBytesPerSecond: 2 * rps * (load.requestBytes + answerBytes),
    cells: Math.max(
      processes(postgresCores / load.postgresCoresMax, 1),
      Math.ceil(redisPrimaries / PRIMARIES_MAX),
    ),
  };
  return { ...plan, notes: notesOn(plan, load) };
}

function storagePlan({ rps, retentionDays }: Load, each: Storage): StoragePlan {
  const tableBytesPerDay = rps * DAY_SECONDS * each.tableBytes;
  return {
    commitsPerSecond: rps * each.commits,
    walBytesPerSecond: rps * each.walBytes,
    tableBytesPerDay,
    tableBytesKept: tableBytesPerDay * retentionDays,
  };
}

function notesOn(plan: Omit<Plan, 'notes'>, { shards }: Load): string[] {
  const notes: string[] = [];
  const primaries = Math.ceil(plan.redisPrimaries / plan.cells);
  if (plan.cells > 1)
    notes.push(
      `One PostgreSQL server or one Redis Cluster is not enough: run ${plan.cells} installations, each with its own, and divide the accounts between them. Everything above is their sum.`,
    );
  if (primaries > 1)
    notes.push(
      `A Redis server runs commands on one core: use a Redis Cluster with ${primaries} primaries in each installation. Accounts are divided by ${shards} shards.`,
    );
  if (primaries * SHARDS_PER_PRIMARY > shards)
    notes.push(
      `${shards} shards load ${primaries} primaries unevenly: set SHARDS to at least ${primaries * SHARDS_PER_PRIMARY} when an installation is new; it cannot be changed later.`,
    );
  return notes;
}
