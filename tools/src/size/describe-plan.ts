import { bytes, round } from './limits.ts';
import type { Load, Plan } from './load.ts';

/** Writes the plan for people: what to run, then what it must carry. */
export function describePlan(load: Load, plan: Plan): string {
  const rows: [what: string, figure: string][] = [
    ['nodes', `${plan.nodes} with ${load.workersPerNode} workers each, one of them spare`],
    ['  CPU they use', `${round(plan.nodeCores)} cores`],
    ['  memory of each', bytes(plan.memoryBytesPerNode)],
    ['  open requests', round(plan.openRequests)],
    ['Redis primaries', `${plan.redisPrimaries}, each with a replica`],
    ['  CPU they use', `${round(plan.redisCores)} cores`],
    ['  memory of each', `${bytes(plan.redisBytesPerPrimary)} for ${round(load.keys)} keys`],
    ['  filled again after', `${round(plan.refillSeconds)} s`],
    ['  connections', round(plan.redisConnections)],
    ['  queue, fleet', `${round(plan.queueCores)}, ${round(plan.fleetCores)} cores`],
    ['control planes', String(plan.controlPlanes)],
    ['  CPU they use', `${round(plan.controlPlaneCores)} cores`],
    ['PostgreSQL', `${round(plan.postgresCores / load.utilisation)} cores`],
    ['  connections', round(plan.postgresConnections)],
    ...storageRows(load, plan),
    ['network of all nodes', `${bytes(plan.networkBytesPerSecond)}/s`],
  ];
  const lines = rows.map(([what, figure]) => `${what.padEnd(22)}${figure}`);
  const refusals = plan.refusals.map((refusal) => `Refused: ${refusal}`);
  return [...lines, ...[...plan.notes, ...refusals].map((note) => `\n${note}`)].join('\n');
}

function storageRows({ retentionDays }: Load, { storage }: Plan): [what: string, figure: string][] {
  if (!storage)
    return [['  storage', 'not measured: npm run bench -- hot-path storage --write storage']];
  return [
    ['  commits', `${round(storage.commitsPerSecond)}/s`],
    ['  write-ahead log', `${bytes(storage.walBytesPerSecond)}/s`],
    ['  growth', `${bytes(storage.tableBytesPerDay)} a day`],
    ['  rows of sums a day', round(storage.sumsPerDay)],
    [`  after ${retentionDays} days`, bytes(storage.tableBytesKept)],
  ];
}
