import { startTollgate, type AdminClient } from '@tollgate/harness';
import pg from 'pg';

/**
 * Measures `usage/logs` over HTTP with its filters, deep pages and CSV, over raw rows of 30 days: 200 users with two keys each, 20 models, 8 upstreams, one request in
 * a hundred failed, a quarter of one account. Key 999, model 20, upstream 20, node-9 and the outcome node_lost are rare: some sixty requests each, or twenty weeks ago. It runs by `npm run bench -- usage-logs [million requests]`.
 */
const DAYS = 30;
const USERS = 200;
const ROUNDS = 7;
const RARE = { key: 999, model: 20, each: 80_000 };

export async function benchUsageLogs([millions = '3']: readonly string[]): Promise<void> {
  const tollgate = await startTollgate({ nodes: 1 });
  try {
    const database = new pg.Client({ connectionString: tollgate.databaseUrl });
    await database.connect();
    try {
      await fill(database, Number(millions) * 1_000_000);
      const rows: Record<string, { 'p50 ms': number; 'worst ms': number; rows: number }> = {};
      for (const [question, path] of Object.entries(await questions(database)))
        rows[question] = await measure(tollgate.admin, path);
      console.table(rows);
    } finally {
      await database.end();
    }
  } finally {
    await tollgate.stop();
  }
}

async function fill(database: pg.Client, requests: number): Promise<void> {
  await database.query(
    `INSERT INTO users (username, password_hash, status) SELECT 'bench-' || n, '', 'active' FROM generate_series(1, ${USERS}) n`,
  );
  await database.query(
    `INSERT INTO models (name, display_name) SELECT 'bench-' || n, 'bench' FROM generate_series(1, ${RARE.model}) n`,
  );
  await database.query(
    `INSERT INTO api_keys (user_id, name, key_hash, key_prefix) SELECT 2 + (n - 1) % ${USERS}, 'bench-' || n, lpad(to_hex(n), 64, '0'), 'sk-bench' FROM generate_series(1, ${RARE.key}) n`,
  );
  for (let ago = DAYS; ago >= 2; ago -= 1) await addDay(database, ago, Math.round(requests / DAYS));
  await database.query(`
    INSERT INTO usage_totals_daily (day, model_id, upstream_id, requests, errors, charge, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, duration_histogram, first_token_histogram)
    SELECT day, model_id, upstream_id, count(*), 0, 0, 0, 0, 0, 0, '{}', '{}' FROM usage_events GROUP BY 1, 2, 3`);
  await database.query(`
    INSERT INTO usage_rollups_daily (day, user_id, key_id, model_id, upstream_id, requests, duration_histogram, first_token_histogram)
    SELECT day, user_id, key_id, model_id, upstream_id, count(*), '{}', '{}' FROM usage_events GROUP BY 1, 2, 3, 4, 5`);
  await database.query('VACUUM ANALYZE usage_events, usage_totals_daily, usage_rollups_daily');
}

/** Adds a day's requests, made within it one after the other. */
async function addDay(database: pg.Client, ago: number, requests: number): Promise<void> {
  const [from = '', to = ''] = [ago, ago - 1].map((days) =>
    new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10),
  );
  await database.query(
    `CREATE TABLE IF NOT EXISTS usage_events_${from.replaceAll('-', '')} PARTITION OF usage_events FOR VALUES FROM ('${from}') TO ('${to}')`,
  );
  await database.query(`
    INSERT INTO usage_events (day, rid, seq, kind, user_id, subscription_id, model_id, key_id, delta, charge, basis, node, protocol, is_stream, upstream_id, attempts, outcome, status,
      input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, started_at, first_token_ms, duration_ms, shard, outbox_ms, outbox_n)
    SELECT '${from}', rid, 0, 'usage', CASE WHEN n % 4 = 0 THEN 7 ELSE 2 + n % ${USERS} END, 1 + n % ${USERS * 2}, CASE WHEN ${ago} > 20 AND n % ${Math.ceil(requests / 2)} = 7 THEN ${RARE.model} ELSE 1 + n % ${RARE.model - 1} END,
      CASE WHEN ${ago} > 20 AND n % ${Math.ceil(requests / 2)} = ${(RARE.key - 1) % USERS} THEN ${RARE.key} ELSE 1 + n % ${USERS * 2} END, 900, 900, 'reported', CASE WHEN n % ${RARE.each} = 5 THEN 'node-9:0' ELSE 'node-' || 1 + n % 4 || ':0' END, 'chat', true, CASE WHEN n % ${RARE.each} = 11 THEN 20 ELSE 1 + n % 8 END,
      '[{"upstream_id": 1, "status": 200, "duration_ms": 120}]', CASE WHEN n % 100 = 0 THEN 'upstream_failed' WHEN n % ${RARE.each} = 13 THEN 'node_lost' ELSE 'completed' END, CASE WHEN n % 100 = 0 THEN 502 ELSE 200 END,
      700, 50, 0, 150, 0, uuid_extract_timestamp(rid), 80, 1300, 's00', 1, n
    FROM (SELECT n, uuidv7('${from}'::timestamptz + n * interval '1 day' / ${requests + 1} - clock_timestamp()) AS rid FROM generate_series(1, ${requests}) n OFFSET 0) r`);
}

async function questions(database: pg.Client): Promise<Record<string, string>> {
  const { rows } = await database.query<{ rid: string }>(
    `SELECT rid FROM usage_events WHERE day = (now() - interval '25 days')::date ORDER BY rid LIMIT 1 OFFSET 5000`,
  );
  const rid = rows[0]?.rid ?? '';
  const ofUser = (
    await database.query<{ count: string }>('SELECT count(*) FROM usage_events WHERE user_id = 9')
  ).rows[0]?.count;
  const deep = `cursor=${Buffer.from(JSON.stringify(rid)).toString('base64url')}`;
  return {
    'first page': '/usage/logs',
    'a page 25 days back': `/usage/logs?${deep}`,
    'one user': '/usage/logs?user_id=7',
    'one user, 25 days back': `/usage/logs?user_id=7&${deep}`,
    'one key': '/usage/logs?key_id=7',
    'a key used 20 times, weeks ago': `/usage/logs?key_id=${RARE.key}`,
    'one model': '/usage/logs?model_id=3',
    'a model used 20 times, weeks ago': `/usage/logs?model_id=${RARE.model}`,
    'one upstream': '/usage/logs?upstream_id=3',
    'an upstream never used': '/usage/logs?upstream_id=77',
    'status 502 (1 in 100)': '/usage/logs?status=502',
    'a status that never was': '/usage/logs?status=418',
    'a rare outcome': '/usage/logs?outcome=node_lost',
    'an outcome that never was': '/usage/logs?outcome=balance_exhausted',
    'a rare node': '/usage/logs?node=node-9',
    'a rare upstream': '/usage/logs?upstream_id=20',
    'a rare outcome of a large account': '/usage/logs?user_id=7&outcome=node_lost',
    'a rare node of a large account': '/usage/logs?user_id=7&node=node-9',
    'a rare upstream of a large account': '/usage/logs?user_id=7&upstream_id=20',
    'a rare model of a large account': '/usage/logs?user_id=7&model_id=20',
    'failures of a rare node': '/usage/logs?outcome=upstream_failed&node=node-9',
    'a rare outcome of a model': '/usage/logs?outcome=node_lost&model_id=3',
    'a rare outcome of an upstream': '/usage/logs?outcome=node_lost&upstream_id=3',
    'a rare node of a model': '/usage/logs?node=node-9&model_id=3',
    'request id': `/usage/logs?rid=${rid}`,
    [`CSV of one user, ${ofUser} rows`]: '/usage/logs?user_id=9&format=csv',
  };
}

async function measure(
  admin: AdminClient,
  path: string,
): Promise<{ 'p50 ms': number; 'worst ms': number; rows: number }> {
  const times: number[] = [];
  let rows = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedAt = performance.now();
    const answer: unknown = await admin.call('GET', path);
    times.push(performance.now() - startedAt);
    // A file is not parsed by the client; its rows are in its name.
    rows = (answer as { data: unknown[] } | undefined)?.data.length ?? 0;
  }
  const sorted = times.toSorted((a, b) => a - b);
  return {
    'p50 ms': Math.round(sorted[Math.floor(ROUNDS / 2)] ?? 0),
    'worst ms': Math.round(sorted.at(-1) ?? 0),
    rows,
  };
}
