import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource, EntityManager } from 'typeorm';

/** Is one number of `ADVISORY_LOCKS`, or a family's number and what is locked. */
export type AdvisoryLock = readonly [number] | readonly [number, number];

const TURN_MS = 100;

/**
 * Waits for the lock and runs `work` while it is held, on connections of its own. The lock belongs to an open transaction, not to the session:
 * a pooler that lends connections by transaction (PgBouncer's `pool_mode = transaction`) keeps it in place, and a lost connection gives it back.
 * It is asked for again and again: a statement that waits has a snapshot, which an index that is built concurrently would wait for.
 */
export async function whileLocked<T>(
  dataSource: DataSource,
  lock: AdvisoryLock,
  work: () => Promise<T>,
): Promise<T> {
  for (;;) {
    const outcome = await ifUnlocked(dataSource, lock, work);
    if (outcome !== null) return outcome.value;
    await delay(TURN_MS);
  }
}

/** Works as `whileLocked`, but returns null at once, without `work`, while another connection has the lock. */
export async function ifUnlocked<T>(
  dataSource: DataSource,
  lock: AdvisoryLock,
  work: () => Promise<T>,
): Promise<{ value: T } | null> {
  const runner = dataSource.createQueryRunner();
  try {
    await runner.startTransaction();
    // The transaction only waits, for as long as the work takes.
    await runner.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    // The statement has no parameters: the portal of a statement that has some would keep its snapshot until the transaction ends.
    const [row]: { got: boolean }[] = await runner.query(
      `SELECT pg_try_advisory_xact_lock(${lock.join(', ')}) AS got`,
    );
    return row?.got ? { value: await work() } : null;
  } finally {
    if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
    await runner.release();
  }
}

/** Waits for the lock, which `tx` keeps until it ends. */
export async function lockUntilEnd(tx: EntityManager, lock: AdvisoryLock): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(${lock.join(', ')})`);
}

/** Takes the lock until `tx` ends; false at once while another connection has it. */
export async function tryLock(tx: EntityManager, lock: number): Promise<boolean> {
  const [row]: { got: boolean }[] = await tx.query('SELECT pg_try_advisory_xact_lock($1) AS got', [
    lock,
  ]);
  return row?.got ?? false;
}
