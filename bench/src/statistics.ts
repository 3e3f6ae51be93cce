import { startTollgate, type AdminClient } from '@tollgate/harness';
import pg from 'pg';

/**
 * Measures usage statistics and dashboard over HTTP, with roll-ups as ten million requests of 30 days leave them: 200 users with two keys each, 20 models, 8 upstreams.
 * It runs by `npm run bench -- statistics [million requests]`. The raw rows are left out: no statistic reads them.
 */
const DAYS = 30;
const USERS = 200;
const MODELS = 20;
/** Is the number of rows of a user and hour: two models with each of two keys. */
const SPREAD = 4;
const BUCKETS = 24;
const SUMS = [
  'requests',
  'errors',
  'charge',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'output_tokens',
];
const ROUNDS = 9;

const QUESTIONS = {
  'admin/dashboard': '/admin/dashboard',
  '30 days, by day': '/usage/statistics',
  '30 days, by day and model': '/usage/statistics?group_by=model',
  '30 days, by day and key': '/usage/statistics?group_by=key',
  '30 days, by day and user': '/usage/statistics?group_by=user',
  '30 days, by day and upstream': '/usage/statistics?group_by=upstream',
  '24 hours, by hour': '/usage/statistics?interval=hour',
  '24 hours, by hour and model': '/usage/statistics?interval=hour&group_by=model',
  '7 days, by hour, one user': `/usage/statistics?interval=hour&user_id=7&from=${daysAgo(7)}`,
  '30 days, by hour, one user, by model': `/usage/statistics?interval=hour&user_id=7&group_by=model&from=${daysAgo(30)}`,
  '7 days, by hour': `/usage/statistics?interval=hour&from=${daysAgo(7)}`,
};

export async function benchStatistics([millions = '10']: readonly string[]): Promise<void> {
  const tollgate = await startTollgate({ nodes: 1 });
  try {
    const database = new pg.Client({ connectionString: tollgate.databaseUrl });
    await database.connect();
    try {
      console.log(await fill(database, Number(millions) * 1_000_000));
    } finally {
      await database.end();
    }
    const rows: Record<string, { 'p50 ms': number; 'worst ms': number; rows: number }> = {};
    for (const [question, path] of Object.entries(QUESTIONS))
      rows[question] = await measure(tollgate.admin, path);
    console.table(rows);
  } finally {
    await tollgate.stop();
  }
}

/** Fills every hour of every user; users keep their keys and models; the days are the sums of their hours, as the worker keeps them. */
async function fill(database: pg.Client, requests: number): Promise<string> {
  const each = Math.round(requests / (DAYS * 24 * USERS * SPREAD));
  await database.query(
    `INSERT INTO users (username, password_hash, status) SELECT 'bench-' || n, '', 'active' FROM generate_series(1, ${USERS}) n`,
  );
  await database.query(
    `INSERT INTO models (name, display_name) SELECT 'bench-' || n, 'bench' FROM generate_series(1, ${MODELS}) n`,
  );
  await database.query(
    `INSERT INTO api_keys (user_id, name, key_hash, key_prefix) SELECT 1 + n % ${USERS}, 'bench-' || n, lpad(to_hex(n), 64, '0'), 'sk-bench' FROM generate_series(1, ${USERS * 2 + 1}) n`,
  );
  const histogram = `(SELECT array_agg(CASE WHEN b % 5 = n % 5 THEN ${each} / 5 ELSE 0 END ORDER BY b) FROM generate_series(1, ${BUCKETS}) b WHERE n IS NOT NULL)`;
  await database.query(`
    INSERT INTO usage_rollups
    SELECT date_trunc('hour', now()) - h * interval '1 hour', u, u * 2 + c % 2, (u + c * 3) % ${MODELS} + 1, (u + c) % 8 + 1,
      ${each}, ${each} / 50, ${each} * 900, ${each} * 700, ${each} * 50, 0, ${each} * 150, shape.counts, shape.counts
    FROM generate_series(0, ${DAYS * 24 - 1}) h, generate_series(1, ${USERS}) u, generate_series(1, ${SPREAD}) c
    JOIN (SELECT n, ${histogram} AS counts FROM generate_series(1, ${SPREAD}) n) shape ON shape.n = c
    ON CONFLICT DO NOTHING`);
  const buckets = (name: string): string =>
    `ARRAY[${Array.from({ length: BUCKETS }, (_, index) => `sum(${name}[${index + 1}])::bigint`).join(', ')}]`;
  await database.query(`
    INSERT INTO usage_rollups_daily
    SELECT (hour AT TIME ZONE 'UTC')::date, user_id, key_id, model_id, upstream_id, sum(requests), sum(errors), sum(charge), sum(input_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(output_tokens),
      ${buckets('duration_histogram')}, ${buckets('first_token_histogram')}
    FROM usage_rollups GROUP BY 1, 2, 3, 4, 5`);
  for (const [totals, rollups, period] of [
    ['usage_totals', 'usage_rollups', 'hour'],
    ['usage_totals_daily', 'usage_rollups_daily', 'day'],
  ]) {
    await database.query(`
      INSERT INTO ${totals} (${period}, model_id, upstream_id, ${SUMS.join(', ')}, duration_histogram, first_token_histogram)
      SELECT ${period}, model_id, upstream_id, ${SUMS.map((name) => `sum(${name})`).join(', ')}, ${buckets('duration_histogram')}, ${buckets('first_token_histogram')} FROM ${rollups} GROUP BY 1, 2, 3`);
  }
  await database.query(
    'VACUUM ANALYZE usage_rollups, usage_rollups_daily, usage_totals, usage_totals_daily',
  );
  const { rows } = await database.query<{ text: string }>(`
    SELECT sum(requests) || ' requests in ' || count(*) || ' hourly and ' || (SELECT count(*) FROM usage_rollups_daily) || ' daily rows' AS text FROM usage_rollups`);
  return rows[0]?.text ?? '';
}

/** Asks a question again and again; returns how long an answer took. */
export async function measure(
  admin: AdminClient,
  path: string,
): Promise<{ 'p50 ms': number; 'worst ms': number; rows: number }> {
  const times: number[] = [];
  let rows = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedAt = performance.now();
    const answer = await admin.call('GET', path);
    times.push(performance.now() - startedAt);
    rows = (answer as { data?: unknown[] }).data?.length ?? 1;
  }
  const sorted = times.toSorted((a, b) => a - b);
  return {
    'p50 ms': Math.round(sorted[Math.floor(ROUNDS / 2)] ?? 0),
    'worst ms': Math.round(sorted.at(-1) ?? 0),
    rows,
  };
}

function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString();
}
