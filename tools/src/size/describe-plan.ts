import type { Load, Plan } from './plan.ts';

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** The plan for people: what to run, then what it must carry. */
export function describePlan(load: Load, plan: Plan): string {
  const rows: [what: string, figure: string][] = [
    ['nodes', `${plan.nodes} with ${load.workersPerNode} workers each, one of them spare`],
    ['  CPU they use', `${round(plan.nodeCores)} cores`],
    ['  memory of each', bytes(plan.memoryBytesPerNode)],
    ['  open requests', round(plan.openRequests)],
    ['Redis primaries', `${plan.redisPrimaries}, each with a replica`],
    ['  CPU they use', `${round(plan.redisCores)} cores`],
    ['control planes', String(plan.controlPlanes)],
    ['  CPU they use', `${round(plan.controlPlaneCores)} cores`],
    ['PostgreSQL', `${round(plan.postgresCores / load.utilisation)} cores`],
    ...storageRows(load, plan),
    ['network of all nodes', `${bytes(plan.networkBytesPerSecond)}/s`],
  ];
  const lines = rows.map(([what, figure]) => `${what.padEnd(22)}${figure}`);
  return [...lines, ...plan.notes.map((note) => `\n${note}`)].join('\n');
}

function storageRows({ retentionDays }: Load, { storage }: Plan): [what: string, figure: string][] {
  if (!storage)
    return [['  storage', 'not measured: npm run bench -- hot-path storage --write storage']];
  return [
    ['  commits', `${round(storage.commitsPerSecond)}/s`],
    ['  write-ahead log', `${bytes(storage.walBytesPerSecond)}/s`],
    ['  growth', `${bytes(storage.tableBytesPerDay)} a day`],
    [`  after ${retentionDays} days`, bytes(storage.tableBytesKept)],
  ];
}

function round(value: number): string {
  const digits = value >= 10 ? 0 : 2;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits });
}

function bytes(value: number): string {
  const power = Math.min(
    UNITS.length - 1,
    Math.max(0, Math.floor(Math.log10(Math.max(value, 1)) / 3)),
  );
  return `${round(value / 1000 ** power)} ${UNITS[power]}`;
}
