import { DataSource, MigrationExecutor, type DataSourceOptions } from 'typeorm';
import { whileLocked } from './advisory-hold.ts';
import { ADVISORY_LOCKS } from './advisory-locks.ts';
import { appliedMigrations } from './applied-migrations.ts';
import { grantRights, requireOwnership, type OtherRoles } from './roles.ts';

/** One connection holds the lock, the other migrates. */
const POOL = 2;
/** Limits the wait for a lock: callers queue behind a statement that waits for a table's lock. Past this time the migration gives up and is tried again at the next start. */
const LOCK_TIMEOUT_MS = 30_000;

/**
 * Runs the migrations; one process does so at a time. Its connections have no statement timeout, because a migration of millions of rows may take
 * long. Each migration is a transaction of its own, except those with `transaction = false`. A failure ends the process and so releases the lock.
 * Afterwards it grants the rights of the roles in `others` again.
 */
export async function migrate(
  { options }: Pick<DataSource, 'options'>,
  others: OtherRoles = {},
): Promise<void> {
  const patient = await new DataSource(patientOptions(options)).initialize();
  try {
    await whileLocked(patient, [ADVISORY_LOCKS.migrations], async () => {
      await appliedMigrations((statement) => patient.query(statement));
      await requireOwnership(patient);
      const executor = new MigrationExecutor(patient);
      executor.transaction = 'each';
      await executor.executePendingMigrations();
      await grantRights(patient, others);
    });
  } finally {
    await patient.destroy();
  }
}

function patientOptions(options: DataSourceOptions): DataSourceOptions {
  if (options.type !== 'postgres') return options;
  const settings = `${options.extra?.options ?? ''} -c lock_timeout=${LOCK_TIMEOUT_MS}`;
  const extra = { ...options.extra, statement_timeout: 0, options: settings };
  return { ...options, poolSize: POOL, extra };
}

/** Returns the names of the migrations that the database lacks, in order; all of them where the role cannot read them yet. It changes nothing and throws when a development build made the database. */
export async function pendingMigrations(dataSource: DataSource): Promise<string[]> {
  const done = await appliedMigrations((statement) => dataSource.query(statement));
  return dataSource.migrations
    .map(({ name, constructor }) => name ?? constructor.name)
    .filter((name) => !done.includes(name))
    .toSorted((one, other) => Number(one.slice(-13)) - Number(other.slice(-13)));
}
