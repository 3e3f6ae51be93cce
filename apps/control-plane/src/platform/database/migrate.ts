import { MigrationExecutor, type DataSource } from 'typeorm';
import { whileLocked } from './advisory-hold.ts';
import { ADVISORY_LOCKS } from './advisory-locks.ts';

/**
 * One process migrates at a time, without the limit of ordinary statements: neither a migration of millions of rows nor the replicas that wait
 * for it may end by it. Each migration is a transaction of its own. A failure ends the process, and with its connection the lock.
 */
export async function migrate(dataSource: DataSource): Promise<void> {
  await whileLocked(dataSource, [ADVISORY_LOCKS.migrations], async () => {
    const runner = dataSource.createQueryRunner();
    try {
      const start = runner.startTransaction.bind(runner);
      // A setting of the session would be lost behind a pooler that lends connections by transaction.
      runner.startTransaction = async (isolation) => {
        await start(isolation);
        await runner.query('SET LOCAL statement_timeout = 0');
      };
      const executor = new MigrationExecutor(dataSource, runner);
      executor.transaction = 'each';
      await executor.executePendingMigrations();
    } finally {
      await runner.release();
    }
  });
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
