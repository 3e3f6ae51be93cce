import type { DataSource } from 'typeorm';

/** One number of `ADVISORY_LOCKS`, or a family's number and what is locked. */
export type AdvisoryLock = readonly [number] | readonly [number, number];

/**
 * Waits for the lock and runs `work` while it is held, on connections of its own. The lock belongs to an open transaction, not to the session:
 * a pooler that lends connections by transaction (PgBouncer's `pool_mode = transaction`) keeps it in place, and a lost connection gives it back.
 */
export async function whileLocked<T>(
  dataSource: DataSource,
  lock: AdvisoryLock,
  work: () => Promise<T>,
): Promise<T> {
  const outcome = await held(dataSource, 'SELECT pg_advisory_xact_lock', lock, work);
  if (outcome === null) throw new Error(`the advisory lock ${lock.join('.')} was not taken`);
  return outcome.value;
}

/** As `whileLocked`, but null at once, without `work`, while another connection has the lock. */
export function ifUnlocked<T>(
  dataSource: DataSource,
  lock: AdvisoryLock,
  work: () => Promise<T>,
): Promise<{ value: T } | null> {
  return held(dataSource, 'SELECT pg_try_advisory_xact_lock', lock, work);
}

async function held<T>(
  dataSource: DataSource,
  statement: string,
  lock: AdvisoryLock,
  work: () => Promise<T>,
): Promise<{ value: T } | null> {
  const runner = dataSource.createQueryRunner();
  try {
    await runner.startTransaction();
    // The transaction only waits, for as long as the work takes or another process has the lock.
    await runner.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    await runner.query('SET LOCAL statement_timeout = 0');
    const places = lock.map((_, index) => `$${index + 1}`).join(', ');
    const [row]: { got: unknown }[] = await runner.query(`${statement}(${places}) AS got`, [
      ...lock,
    ]);
    return row?.got === false ? null : { value: await work() };
  } finally {
    if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
    await runner.release();
  }
}
