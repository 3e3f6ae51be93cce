import { parseArgs } from 'node:util';
import { describePlan } from '../size/describe-plan.ts';
import { readMeasured } from '../size/measured.ts';
import type { Load } from '../size/load.ts';
import { planFor } from '../size/plan.ts';

/** Lists for each option its meaning, default, minimum and maximum. */
const OPTIONS = {
  rps: ['requests a second at the peak', 100, 0.001, 10_000_000],
  keys: ['keys in use, in place of those of --profile', 1_000, 1, 1_000_000_000],
  'stream-share': ['share of requests that are streams, 0 to 1', 0.7, 0, 1],
  events: ['events of a stream', 200, 1, 100_000],
  'stream-seconds': ['mean duration of a stream', 20, 0.01, 86_400],
  'json-seconds': ['mean duration of a JSON request', 5, 0.01, 86_400],
  'request-bytes': ['bytes of a request', 20_000, 1, 33_000_000],
  'event-bytes': ['bytes of an event', 250, 1, 1_000_000],
  'retention-days': ['days for which single requests are kept', 400, 1, 36_500],
  utilisation: ['share of a core to plan for', 0.5, 0.05, 1],
  'workers-per-node': ['WORKERS of a node', 4, 1, 512],
  shards: ['SHARDS of the installation', 64, 1, 1024],
  pool: ['DATABASE_POOL_MAX of a control plane', 20, 5, 1000],
  'postgres-cores': ['cores of the largest PostgreSQL server to be had', 64, 1, 1024],
  'disk-gb': ['its disk', 64_000, 1, 1_000_000],
  'wal-mb': ['megabytes of log that its disk takes a second', 200, 1, 100_000],
  'postgres-connections': ['its max_connections', 100, 1, 100_000],
  'redis-gb': ['memory of the largest Redis server to be had', 64, 0.1, 10_000],
  'redis-connections': ['its maxclients', 10_000, 1, 1_000_000],
  'refill-seconds': ['seconds that a Redis may take to be filled again', 120, 1, 86_400],
} as const satisfies Record<string, readonly [string, number, number, number]>;
type Option = keyof typeof OPTIONS;

/** Maps a profile to the keys in use: few with many requests each, or many with few. */
const PROFILES: Readonly<Record<string, number>> = { dense: 1_000, sparse: 1_000_000 };

/** Runs `npm run size -- --rps 5000 --stream-share 0.7`: it computes the resources that a load needs, from figures of the bench. It ends with 1 where an installation of the plan exceeds a limit. */
export async function size(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      profile: { type: 'string', default: 'dense' },
      ...Object.fromEntries(
        Object.keys(OPTIONS).map((name) => [name, { type: 'string' as const }]),
      ),
    },
  });
  if (values.help) {
    console.log(usage());
    return 0;
  }
  const load = loadOf(new Map(Object.entries(values)));
  const plan = planFor(load, readMeasured());
  console.log(values.json ? JSON.stringify(plan, null, 2) : describePlan(load, plan));
  return plan.refusals.length > 0 ? 1 : 0;
}

function loadOf(given: ReadonlyMap<string, unknown>): Load {
  const profile = String(given.get('profile'));
  if (!Object.hasOwn(PROFILES, profile))
    throw new Error(`--profile must be ${Object.keys(PROFILES).join(' or ')}.`);
  const of = (option: Option): number => {
    const [, fallback, least, most] = OPTIONS[option];
    const text = given.get(option) ?? (option === 'keys' ? PROFILES[profile] : undefined);
    const value = text === undefined ? fallback : Number(text);
    if (!(value >= least && value <= most))
      throw new Error(`--${option} must be a number from ${least} to ${most}.`);
    return value;
  };
  return {
    rps: of('rps'),
    keys: of('keys'),
    streamShare: of('stream-share'),
    events: of('events'),
    streamSeconds: of('stream-seconds'),
    jsonSeconds: of('json-seconds'),
    requestBytes: of('request-bytes'),
    eventBytes: of('event-bytes'),
    retentionDays: of('retention-days'),
    utilisation: of('utilisation'),
    workersPerNode: of('workers-per-node'),
    shards: of('shards'),
    pool: of('pool'),
    postgresCoresMax: of('postgres-cores'),
    diskBytesMax: of('disk-gb') * 1e9,
    walBytesMax: of('wal-mb') * 1e6,
    redisBytesMax: of('redis-gb') * 1e9,
    refillSecondsMax: of('refill-seconds'),
    redisConnectionsMax: of('redis-connections'),
    postgresConnectionsMax: of('postgres-connections'),
  };
}

function usage(): string {
  const lines = Object.entries(OPTIONS).map(
    ([name, [meaning, fallback]]) => `  --${name} N`.padEnd(28) + `${meaning}; ${fallback}`,
  );
  return [
    'npm run size -- [options]',
    '  --profile dense|sparse    1,000 or 1,000,000 keys in use',
    ...lines,
    '  --json                    the plan as JSON',
  ].join('\n');
}
