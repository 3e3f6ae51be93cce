import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServices, type Services, until } from '@tollgate/harness';
import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { z } from 'zod';
import { dataSourceOptions } from './data-source-options.ts';
import { migrate, pendingMigrations } from './migrate.ts';

/** Is the newest migration of the release that this one is rolled out beside. */
const RELEASED = 'Schema1795824000000';
const ROWS = 1_000_000;
const ACCOUNTS = 100_000;
/** Lists tables whose writers wait while a migration reads all of one under a lock that excludes them. */
const LARGE = [
  'usage_events_default',
  'usage_rollups',
  'token_entries',
  'ledger_transactions',
  'ledger_entries',
  'activity_log',
];

let services: Services;
let dataSource: DataSource;
beforeAll(async () => {
  services = await startServices({ redis: false });
  dataSource = await connect(({ name }) => stamp(name) <= stamp(RELEASED));
  await migrate(dataSource);
  await fill(dataSource);
}, 300_000);
afterAll(async () => {
  await dataSource?.destroy();
  await services?.stop();
});

class ScanUnderLock1999999999998 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE usage_rollups ADD CHECK (requests > -1)');
  }

  async down(): Promise<void> {}
}

class IndexBesideWriters1999999999999 implements MigrationInterface {
  transaction = false as const;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX CONCURRENTLY ON usage_rollups (requests)');
  }

  async down(): Promise<void> {}
}
const PLANTED = [ScanUnderLock1999999999998, IndexBesideWriters1999999999999];

test('no migration of this release reads a table of a million rows under a lock that keeps its writers out; a planted one is found', async () => {
  const all = await connect(() => true);
  const pending = await pendingMigrations(all);
  const isConcurrent = new Map(
    all.migrations.map((each) => [each.name ?? each.constructor.name, each.transaction === false]),
  );
  await all.destroy();
  const blocking: string[] = [];
  for (const name of pending) {
    const before = await rowsRead();
    const upTo = await connect((migration) => stamp(migration.name) <= stamp(name));
    await migrate(upTo);
    await upTo.destroy();
    const after = await rowsRead();
    const read = LARGE.filter(
      (table) => (after.get(table) ?? 0) - (before.get(table) ?? 0) >= ROWS,
    );
    if (read.length > 0 && isConcurrent.get(name) !== true)
      blocking.push(`${name}: ${read.join(', ')}`);
  }
  expect(pending.slice(-2)).toEqual(PLANTED.map(({ name }) => name));
  expect(blocking).toEqual(['ScanUnderLock1999999999998: usage_rollups']);
}, 300_000);

function connect(isWanted: (migration: { name: string }) => boolean): Promise<DataSource> {
  const options = dataSourceOptions({ DATABASE_URL: services.databaseUrl, DATABASE_POOL_MAX: 1 });
  return new DataSource({
    ...options,
    migrations: [...options.migrations, ...PLANTED].filter(isWanted),
  }).initialize();
}

/** Each class ends with its time. */
function stamp(name: string): number {
  return Number(name.slice(-13));
}

const OTHERS = `SELECT application_name, state, query FROM pg_stat_activity WHERE datname = current_database()
  AND backend_type = 'client backend' AND pid <> pg_backend_pid()`;
const readRow = z.object({ table: z.string(), read: z.coerce.number() });

/** Rows that whole scans, of statements and of index builds, have read of each large table. */
async function rowsRead(): Promise<Map<string, number>> {
  // A session reports its figures when it ends.
  await until('the other sessions end', async () => (await dataSource.query(OTHERS)).length === 0);
  const rows: unknown[] = await dataSource.query(
    'SELECT relname AS table, seq_tup_read AS read FROM pg_stat_user_tables WHERE relname = ANY($1)',
    [LARGE],
  );
  return new Map(rows.map((row) => readRow.parse(row)).map(({ table, read }) => [table, read]));
}

async function fill(database: DataSource): Promise<void> {
  const runner = database.createQueryRunner();
  await runner.query(`
    SET statement_timeout = 0;
    SET session_replication_role = replica;
    INSERT INTO users (username, password_hash, status) SELECT 'user-' || n, 'x', 'active' FROM generate_series(1, ${ACCOUNTS}) n;
    INSERT INTO subscriptions (user_id, model_id) SELECT n, 1 FROM generate_series(1, ${ACCOUNTS}) n;
    INSERT INTO usage_events (day, rid, seq, kind, user_id, subscription_id, model_id, delta, started_at)
      SELECT '2026-01-01', gen_random_uuid(), 0, 'usage', n % ${ACCOUNTS}, n % ${ACCOUNTS}, 1, -1, now() FROM generate_series(1, ${ROWS}) n;
    INSERT INTO usage_rollups (hour, user_id, key_id, model_id, upstream_id, duration_histogram, first_token_histogram)
      SELECT now(), n, 1, 1, 1, '{}', '{}' FROM generate_series(1, ${ROWS}) n;
    INSERT INTO token_entries (subscription_id, kind, reference, delta, balance_after)
      SELECT 1 + n % ${ACCOUNTS}, 'usage', 'usage:' || n, -1, 1 FROM generate_series(1, ${ROWS}) n;
    INSERT INTO ledger_transactions (kind, reference) SELECT 'recharge', 'r' || n FROM generate_series(1, ${ROWS}) n;
    INSERT INTO ledger_entries (transaction_id, ledger_account_id, amount, balance_after)
      SELECT n, 1, 1, 1 FROM generate_series(1, ${ROWS}) n;
    INSERT INTO activity_log (at, action, target_kind, previous_hash, hash)
      SELECT now(), 'a', 'b', 'c', 'h' || n FROM generate_series(1, ${ROWS}) n;
    SET session_replication_role = origin;
    ANALYZE`);
  await runner.release();
}
