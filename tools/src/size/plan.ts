import { refusalsOf } from './limits.ts';
import type { Load, Plan, StoragePlan } from './load.ts';
import type { Measured, Storage } from './measured.ts';

/** Is the memory of an open stream (bench/results.md, scenario `streams`). */
const STREAM_BYTES = 130_000;
/** SHARDS is 1,024 at most; with fewer than four shards each, primaries are loaded unevenly. */
const SHARDS_PER_PRIMARY = 4;
const PRIMARIES_MAX = 1_024 / SHARDS_PER_PRIMARY;
const DAY_SECONDS = 86_400;
/** Is a row of sums with its two indexes (bench/results.md, `top`). */
const SUM_BYTES = 262;
/** Covers row, index entries and, after a checkpoint, whole pages. It is an estimate. */
const WAL_OF_A_ROW = 2;
/** Plans sums by day for five years, because they are never deleted; sums by hour and minute as long as `USAGE_PERIODS` keeps them. */
const SUMS_KEPT_DAYS = 5 * 365;
const HOURS_KEPT_DAYS = 90;
const MINUTES_KEPT_DAYS = 2;
/** Each worker relays on this beat, one job each time, and reports on its own. */
const BEATS_A_SECOND = 4;
const COMMANDS_A_JOB = 36;
const REPORTS_A_SECOND = 0.5;
const COMMANDS_A_REPORT = 10;
/** Is the CPU of Redis for one command inside a function. */
const COMMAND_US = 8;
/** Is the number of `Connections` of a node; a control plane has its own and two for each of two queues. */
const CONNECTIONS_A_WORKER = 5;
const CONNECTIONS_A_CONTROL_PLANE = 8;

/** Does the arithmetic of docs/sizing.md. */
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
  const controlPlanes = processes(controlPlaneCores, 2);
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
    controlPlanes,
    postgresCores,
    // Each byte passes a node twice: from one side, to the other.
    networkBytesPerSecond: 2 * rps * (load.requestBytes + load.events * load.eventBytes),
    ...sharedPlan(load, measured, { workers, controlPlanes, redisPrimaries }),
    cells: Math.max(
      processes(postgresCores / load.postgresCoresMax, 1),
      Math.ceil(redisPrimaries / PRIMARIES_MAX),
    ),
  };
  return { ...plan, notes: notesOn(plan, load), refusals: refusalsOf(plan, load) };
}

/** Computes the load of all processes together on the stores, beside the requests. */
function sharedPlan(
  load: Load,
  { keyBytes, refillSecondsPerKey, storage }: Measured,
  {
    workers,
    controlPlanes,
    redisPrimaries,
  }: Pick<Plan, 'workers' | 'controlPlanes' | 'redisPrimaries'>,
) {
  return {
    storage: storage && storagePlan(load, storage),
    redisBytesPerPrimary: (load.keys * keyBytes) / redisPrimaries,
    refillSeconds: load.keys * refillSecondsPerKey,
    queueCores: (workers * BEATS_A_SECOND * COMMANDS_A_JOB * COMMAND_US) / 1e6,
    fleetCores: (workers * REPORTS_A_SECOND * COMMANDS_A_REPORT * COMMAND_US) / 1e6,
    redisConnections: workers * CONNECTIONS_A_WORKER + controlPlanes * CONNECTIONS_A_CONTROL_PLANE,
    postgresConnections: controlPlanes * load.pool,
  };
}

function storagePlan({ rps, keys, retentionDays }: Load, each: Storage): StoragePlan {
  const requests = rps * DAY_SECONDS;
  const tableBytesPerDay = requests * each.tableBytes;
  // A key has a row for each period in which it was used, with one model at one upstream.
  const rows = (periodsADay: number): number => keys * Math.min(periodsADay, requests / keys);
  const kept =
    rows(1) * SUMS_KEPT_DAYS + rows(24) * HOURS_KEPT_DAYS + rows(1_440) * MINUTES_KEPT_DAYS;
  return {
    commitsPerSecond: rps * each.commits,
    walBytesPerSecond:
      rps * each.walBytes +
      ((rows(1) + rows(24) + rows(1_440)) * SUM_BYTES * WAL_OF_A_ROW) / DAY_SECONDS,
    tableBytesPerDay,
    tableBytesKept: tableBytesPerDay * retentionDays + kept * SUM_BYTES,
    sumsPerDay: rows(1),
  };
}

function notesOn(plan: Omit<Plan, 'notes' | 'refusals'>, { shards }: Load): string[] {
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
