import type { Load, Plan } from './load.ts';

type Planned = Omit<Plan, 'notes' | 'refusals'>;

interface Limit {
  what: string;
  /** Returns what all installations need together. */
  needed: (plan: Planned) => number;
  most: (load: Load) => number;
  show: (value: number) => string;
  remedy: string;
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

export function bytes(value: number): string {
  const power = Math.min(
    UNITS.length - 1,
    Math.max(0, Math.floor(Math.log10(Math.max(value, 1)) / 3)),
  );
  return `${round(value / 1000 ** power)} ${UNITS[power]}`;
}

export function round(value: number): string {
  const digits = value >= 10 ? 0 : 2;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits });
}

const LIMITS: readonly Limit[] = [
  {
    what: 'disk of PostgreSQL',
    needed: ({ storage }) => storage?.tableBytesKept ?? 0,
    most: ({ diskBytesMax }) => diskBytesMax,
    show: bytes,
    remedy: 'keep single requests for fewer days (--retention-days), or raise --disk-gb',
  },
  {
    what: 'write-ahead log a second',
    needed: ({ storage }) => storage?.walBytesPerSecond ?? 0,
    most: ({ walBytesMax }) => walBytesMax,
    show: bytes,
    remedy: 'use a faster disk (--wal-mb), or divide the accounts between installations',
  },
  {
    what: 'memory of a Redis primary',
    needed: ({ redisBytesPerPrimary, cells }) => redisBytesPerPrimary * cells,
    most: ({ redisBytesMax, utilisation }) => redisBytesMax * utilisation,
    show: bytes,
    remedy: 'use larger servers (--redis-gb), or divide the accounts between installations',
  },
  {
    what: 'seconds until a lost Redis is filled again',
    needed: ({ refillSeconds }) => refillSeconds,
    most: ({ refillSecondsMax }) => refillSecondsMax,
    show: round,
    remedy:
      'accept a longer outage (--refill-seconds), or divide the accounts between installations',
  },
  {
    what: 'cores of the primary that has the queue',
    needed: ({ queueCores }) => queueCores,
    most: ({ utilisation }) => utilisation,
    show: round,
    remedy: 'raise --utilisation, or divide the accounts between installations',
  },
  {
    what: 'cores of the primary that has the fleet',
    needed: ({ fleetCores }) => fleetCores,
    most: ({ utilisation }) => utilisation,
    show: round,
    remedy: 'raise --utilisation, or divide the accounts between installations',
  },
  {
    what: 'connections to a Redis primary',
    needed: ({ redisConnections }) => redisConnections,
    most: ({ redisConnectionsMax }) => redisConnectionsMax,
    show: round,
    remedy: 'raise maxclients of Redis (--redis-connections)',
  },
  {
    what: 'connections to PostgreSQL',
    needed: ({ postgresConnections }) => postgresConnections,
    most: ({ postgresConnectionsMax }) => postgresConnectionsMax,
    show: round,
    remedy:
      'lower DATABASE_POOL_MAX (--pool), put PgBouncer between, or raise max_connections (--postgres-connections)',
  },
];

/** Returns a sentence for each limit that an installation of the plan exceeds. */
export function refusalsOf(plan: Planned, load: Load): string[] {
  return LIMITS.flatMap(({ what, needed, most, show, remedy }) => {
    const ofOne = needed(plan) / plan.cells;
    return ofOne > most(load)
      ? [`The ${what} would be ${show(ofOne)}, and ${show(most(load))} is to be had: ${remedy}.`]
      : [];
  });
}
