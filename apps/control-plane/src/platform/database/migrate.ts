import { MigrationExecutor, type DataSource } from 'typeorm';
import { ADVISORY_LOCKS } from './advisory-locks.ts';

/**
 * Lock and migrations share one connection without a time limit: neither a migration of millions of rows nor the replicas that wait for it
 * may end by the limit of ordinary statements. A failure ends the process, and with its connection the lock.
 */
export async function migrate(dataSource: DataSource): Promise<void> {
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query('SET statement_timeout = 0');
    await runner.query('SELECT pg_advisory_lock($1)', [ADVISORY_LOCKS.migrations]);
    const executor = new MigrationExecutor(dataSource, runner);
    executor.transaction = 'each';
    await executor.executePendingMigrations();
    await runner.query('SELECT pg_advisory_unlock($1)', [ADVISORY_LOCKS.migrations]);
    await runner.query('RESET statement_timeout');
  } finally {
    await runner.release();
  }
}

/** Names of those that the database lacks, in the order in which they run. Changes nothing. */
export async function pendingMigrations(dataSource: DataSource): Promise<string[]> {
  const [row]: { found: boolean }[] = await dataSource.query(
    "SELECT to_regclass('migrations') IS NOT NULL AS found",
  );
  const done: { name: string }[] =
    row?.found === true ? await dataSource.query('SELECT name FROM migrations') : [];
  return dataSource.migrations
    .map(({ name, constructor }) => name ?? constructor.name)
    .filter((name) => !done.some((migration) => migration.name === name))
    .toSorted((one, other) => Number(one.slice(-13)) - Number(other.slice(-13)));
}
