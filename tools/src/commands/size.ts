import { parseArgs } from 'node:util';
import { describePlan } from '../size/describe-plan.ts';
import { readMeasured } from '../size/measured.ts';
import { planFor, type Load } from '../size/plan.ts';

/** Lists for each option its meaning, default, minimum and maximum. */
const OPTIONS = {
  rps: ['requests a second at the peak', 100, 0.001, 10_000_000],
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
  'postgres-cores': ['cores of the largest PostgreSQL server to be had', 64, 1, 1024],
} as const satisfies Record<string, readonly [string, number, number, number]>;
type Option = keyof typeof OPTIONS;

/** Runs `npm run size -- --rps 5000 --stream-share 0.7`: it computes the resources that a load needs, from figures of the bench. */
export async function size(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
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
  return 0;
}

function loadOf(given: ReadonlyMap<string, unknown>): Load {
  const of = (option: Option): number => {
    const [, fallback, least, most] = OPTIONS[option];
    const text = given.get(option);
    const value = text === undefined ? fallback : Number(text);
    if (!(value >= least && value <= most))
      throw new Error(`--${option} must be a number from ${least} to ${most}.`);
    return value;
  };
  return {
    rps: of('rps'),
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
    postgresCoresMax: of('postgres-cores'),
  };
}

function usage(): string {
  const lines = Object.entries(OPTIONS).map(
    ([name, [meaning, fallback]]) => `  --${name} N`.padEnd(24) + `${meaning}; ${fallback}`,
  );
  return ['npm run size -- [options]', ...lines, '  --json                the plan as JSON'].join(
    '\n',
  );
}
