import type { DataSource, EntityManager } from 'typeorm';
import { z } from 'zod';
import { prepared } from '../../platform/database/prepared.ts';
import type { Transactions } from '../../platform/database/transactions.ts';
import { promisedRow, type LiveRecord } from './live-target.ts';

/** Younger rows belong to the call that wrote them. */
const OVERDUE_AFTER = '2 seconds';
export const OVERDUE_ROWS = 200;

const WAITING = prepared('SELECT EXISTS (SELECT FROM live_state_outbox) AS is_waiting');
const OVERDUE = prepared(
  `SELECT id FROM live_state_outbox WHERE created_at < now() - interval '${OVERDUE_AFTER}' LIMIT 1`,
);

const waitingRow = z.object({ is_waiting: z.boolean() });
const insertedRow = z.object({ id: z.string() });

export type PromisedRecord = z.output<typeof promisedRow>;

/** Writes the rows and returns their ids. */
export async function promiseWrites(
  tx: EntityManager,
  targets: readonly LiveRecord[],
): Promise<string[]> {
  const rows: unknown[] = await tx.query(
    'INSERT INTO live_state_outbox (kind, target_id) SELECT * FROM unnest($1::text[], $2::int[]) RETURNING id',
    [targets.map((target) => target.kind), targets.map((target) => target.id)],
  );
  return rows.map((row) => insertedRow.parse(row).id);
}

export async function forgetWrites(tx: EntityManager, rowIds: readonly string[]): Promise<void> {
  await tx.query('DELETE FROM live_state_outbox WHERE id = ANY($1::bigint[])', [rowIds]);
}

export async function isWritePromised(
  dataSource: DataSource,
  { kind, id }: LiveRecord,
): Promise<boolean> {
  const promised: unknown[] = await dataSource.query(
    'SELECT FROM live_state_outbox WHERE kind = $1 AND target_id = $2 LIMIT 1',
    [kind, id],
  );
  return promised.length > 0;
}

/** Returns whether a write is overdue. The answer is nearly always false, and the check costs less than a transaction. */
export async function isWriteOverdue(transactions: Transactions): Promise<boolean> {
  const [found] = await transactions.look(WAITING);
  if (!waitingRow.parse(found).is_waiting) return false;
  return (await transactions.query(OVERDUE)).length > 0;
}

/** Locks the next overdue rows that no other replica has locked, at most `OVERDUE_ROWS`. */
export async function lockOverdue(tx: EntityManager, afterId: string): Promise<PromisedRecord[]> {
  const rows: unknown[] = await tx.query(
    `SELECT id, kind, target_id FROM live_state_outbox WHERE id > $1 AND created_at < now() - interval '${OVERDUE_AFTER}' ORDER BY id LIMIT ${OVERDUE_ROWS} FOR UPDATE SKIP LOCKED`,
    [afterId],
  );
  return rows.map((row) => promisedRow.parse(row));
}
