import { playFirstMinute, prepareFirstMinute, seedDemo } from '@tollgate/tools';
import { until } from '@tollgate/harness';
import pg from 'pg';
import { startStage, type Stage } from './stage.ts';

const PASSWORD = 'a sentence for the demo';
const PAUSE_MS = 40;
/** The demo's hour is repeated over the two days before it by these percentages of its requests for each earlier hour. */
const DAY = [
  35, 28, 22, 18, 20, 26, 40, 62, 88, 104, 112, 97, 84, 92, 118, 126, 109, 90, 70, 58, 49, 44, 38,
  30,
];
const COURSE = [...DAY, ...DAY.map((percent) => Math.round(percent * 0.88))];
const SHOWN_REQUESTS = 200;
const BOOKED_WITHIN_MS = 60_000;
const ALERTED_WITHIN_MS = 90_000;

export interface DemoStage extends Stage {
  /** Is the user with the most to see. */
  user: { username: string; password: string };
}

/** Starts an installation with the demo of `npm start`: several users, models, a failing upstream, a low balance, a pending user, and a day behind it. */
export async function startDemoStage(): Promise<DemoStage> {
  const stage = await startStage();
  const { admin, upstreamUrl } = stage.tollgate;
  await seedDemo(admin, { user: { username: 'demo', password: PASSWORD }, upstreamUrl });
  const demo = { admin, baseUrl: stage.address, upstreamUrl, password: PASSWORD };
  const callers = await prepareFirstMinute(demo);
  await playFirstMinute(demo, callers, () => false, PAUSE_MS);
  const database = new pg.Client({ connectionString: stage.tollgate.databaseUrl });
  await database.connect();
  await untilBooked(database);
  await proveBooks(stage);
  await untilAlerted(stage);
  await paintYesterday(database);
  await database.end();
  return { ...stage, user: { username: 'demo-mara', password: PASSWORD } };
}

/** It runs before yesterday is painted, which no proof would find true. */
async function proveBooks({ tollgate: { admin } }: Stage): Promise<void> {
  await admin.call('POST', '/admin/books/run');
  await until(
    'the proof of the books ends',
    async () => Object(await admin.call('GET', '/admin/books')).running_since === null,
    BOOKED_WITHIN_MS,
  );
}

/** The low balance is seen by a look a minute. */
async function untilAlerted({ tollgate: { admin } }: Stage): Promise<void> {
  await until(
    'the low balance of the demo raises an alert',
    async () => (await admin.list('/admin/alerts?rule=low_balance')).length > 0,
    ALERTED_WITHIN_MS,
  );
}

async function untilBooked(database: pg.Client): Promise<void> {
  await until(
    `${SHOWN_REQUESTS} requests are booked`,
    async () => {
      const { rows } = await database.query(
        'SELECT count(DISTINCT rid)::int AS n FROM usage_events',
      );
      return Number(rows[0].n) >= SHOWN_REQUESTS;
    },
    BOOKED_WITHIN_MS,
  );
}

const SCALED = [
  'requests',
  'errors',
  'charge',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'output_tokens',
];

/** Charts of one minute show nothing: the roll-ups of the present hour stand, scaled, for each of the 23 before. No balance knows of it. */
async function paintYesterday(database: pg.Client): Promise<void> {
  for (const [index, percent] of COURSE.entries())
    for (const [table, keys] of [
      ['usage_rollups', ['user_id', 'key_id', 'model_id', 'upstream_id']],
      ['usage_totals', ['model_id', 'upstream_id']],
    ] as const)
      await database.query(
        `INSERT INTO ${table} (hour, ${keys.join(', ')}, ${SCALED.join(', ')}, duration_histogram, first_token_histogram)
         SELECT hour - interval '${index + 1} hours', ${keys.join(', ')}, ${SCALED.map((name) => `round(${name} * ${percent} / 100.0)`).join(', ')},
           duration_histogram, first_token_histogram
         FROM ${table} WHERE hour = (SELECT max(hour) FROM ${table}) ON CONFLICT DO NOTHING`,
      );
}
