import { startTollgate } from '@tollgate/harness';
import pg from 'pg';
import { measure } from './statistics.ts';

/**
 * Measures over HTTP who used the most, and the list of accounts: 100,000 accounts, each used on every second of 30 days, 300 models, five million requests.
 * It runs by `npm run bench -- top [thousand accounts]`. The raw rows are left out: neither question reads them.
 */
const DAYS = 30;
const MODELS = 300;
const SUMS = 'requests, errors, charge, input_tokens, output_tokens';
const FILLED = [
  'users',
  'models',
  'api_keys',
  'price_versions',
  'ledger_accounts',
  'usage_rollups_minute',
  'usage_rollups',
  'usage_rollups_daily',
  'usage_totals_daily',
];
const MEASURES = ['tokens', 'requests', 'errors', 'spend'];

export async function benchTop([thousands = '100']: readonly string[]): Promise<void> {
  const tollgate = await startTollgate({ nodes: 1 });
  try {
    const database = new pg.Client({ connectionString: tollgate.databaseUrl });
    await database.connect();
    try {
      console.log(await fill(database, Number(thousands) * 1_000));
    } finally {
      await database.end();
    }
    const rows: Record<string, { 'p50 ms': number; 'worst ms': number; rows: number }> = {};
    for (const group of ['user', 'key', 'model'])
      for (const by of MEASURES)
        rows[`top ${group}s by ${by}`] = await measure(
          tollgate.admin,
          `/usage/top?group_by=${group}&by=${by}`,
        );
    for (const sort of ['-created_at', '-balance', '-spend_30d', '-last_used_at', 'last_used_at'])
      rows[`accounts by ${sort}`] = await measure(
        tollgate.admin,
        `/users?sort=${sort}&page_size=50`,
      );
    rows['accounts by -spend_30d, page 1,000'] = await measure(
      tollgate.admin,
      '/users?sort=-spend_30d&page_size=50&page=1000',
    );
    console.table(rows);
  } finally {
    await tollgate.stop();
  }
}

async function fill(database: pg.Client, users: number): Promise<string> {
  await database.query(`
    INSERT INTO users (username, password_hash, status) SELECT 'bench-' || n, '', 'active' FROM generate_series(1, ${users}) n;
    INSERT INTO ledger_accounts (kind, user_id, balance) SELECT 'wallet', id, 0 FROM users WHERE username LIKE 'bench-%';
    INSERT INTO models (name, display_name) SELECT 'bench-' || n, 'bench' FROM generate_series(1, ${MODELS}) n;
    INSERT INTO price_versions (model_id, price_per_million, effective_at) SELECT id, 1000 * id, now() - interval '90 days' FROM models WHERE name LIKE 'bench-%';
    INSERT INTO price_versions (model_id, price_per_million, effective_at) SELECT id, 1500 * id, now() - interval '9 days' FROM models WHERE name LIKE 'bench-%' AND id % 3 = 0;
    INSERT INTO api_keys (user_id, name, key_hash, key_prefix) SELECT id, 'bench', lpad(to_hex(id), 64, '0'), 'sk-bench' FROM users WHERE username LIKE 'bench-%'`);
  const buckets = "'[9:11]={1,1,1}'";
  await database.query(`
    CREATE TEMP TABLE used AS SELECT (now() AT TIME ZONE 'UTC')::date - d AS day, k.user_id, k.id AS key_id, m.id AS model_id, 1 + (k.id + d) % 8 AS upstream_id, 1 + (k.id * 7 + d * 3) % 6 AS requests
      FROM generate_series(0, ${DAYS - 1}) d, api_keys k, models m
      WHERE k.name = 'bench' AND (k.id + d) % 2 = 0 AND m.name = 'bench-' || 1 + (k.id * 31 + d / 10) % ${MODELS};
    INSERT INTO usage_rollups_daily (day, user_id, key_id, model_id, upstream_id, ${SUMS}, duration_histogram, first_token_histogram)
      SELECT day, user_id, key_id, model_id, upstream_id, requests, key_id % 50 / 49, requests * 900, requests * 700, requests * 150, ${buckets}, ${buckets} FROM used;
    INSERT INTO usage_rollups (hour, user_id, key_id, model_id, upstream_id, ${SUMS}, duration_histogram, first_token_histogram)
      SELECT (day::timestamp AT TIME ZONE 'UTC') + key_id % 24 * interval '1 hour', user_id, key_id, model_id, upstream_id, requests, 0, requests * 900, requests * 700, requests * 150, ${buckets}, ${buckets} FROM used;
    INSERT INTO usage_rollups_minute (minute, user_id, key_id, model_id, upstream_id, ${SUMS}, duration_histogram, first_token_histogram)
      SELECT (day::timestamp AT TIME ZONE 'UTC') + key_id % 1440 * interval '1 minute', user_id, key_id, model_id, upstream_id, requests, 0, requests * 900, requests * 700, requests * 150, ${buckets}, ${buckets} FROM used WHERE day >= (now() AT TIME ZONE 'UTC')::date - 1;
    INSERT INTO usage_totals_daily (day, model_id, upstream_id, ${SUMS}, duration_histogram, first_token_histogram)
      SELECT day, model_id, upstream_id, sum(requests), sum(key_id % 50 / 49), sum(requests * 900), sum(requests * 700), sum(requests * 150), '{}', '{}' FROM used GROUP BY 1, 2, 3`);
  await database.query(`VACUUM ANALYZE ${FILLED.join(', ')}`);
  const { rows } = await database.query<{ text: string }>(`
    SELECT sum(requests) || ' requests of ${users} accounts in ' || count(*) || ' daily rows of ' || pg_table_size('usage_rollups_daily') / count(*) || ' bytes' AS text FROM usage_rollups_daily`);
  return rows[0]?.text ?? '';
}
