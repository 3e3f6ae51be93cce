import type { DataSource, EntityManager } from 'typeorm';
import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';

const integer = z.union([z.string(), z.number()]).transform(toSafeInteger);
const periodRow = z.object({
  budget_id: z.number(),
  started_at: integer,
  used: integer,
  granted: integer,
});
export type PeriodRow = z.output<typeof periodRow>;
const entryRow = z.object({
  id: integer,
  kind: z.enum(['grant', 'reset']),
  amount: integer,
  started_at: integer,
  reason: z.string(),
  author_id: z.number(),
  created_at: z.date(),
});
export type EntryRow = z.output<typeof entryRow>;

const ENTRIES_SHOWN = 200;

/** Returns the period of each budget that began at the second beside it, where anything was used of it or granted for it. */
export async function readPeriods(
  tx: Pick<DataSource, 'query'>,
  periods: readonly { budgetId: number; startedAt: number }[],
): Promise<Map<number, PeriodRow>> {
  const rows: unknown[] = await tx.query(
    `SELECT p.budget_id, p.started_at, p.used, p.granted FROM budget_periods p
     JOIN unnest($1::int[], $2::bigint[]) AS w(budget_id, started_at) USING (budget_id, started_at)`,
    [periods.map(({ budgetId }) => budgetId), periods.map(({ startedAt }) => startedAt)],
  );
  return new Map(
    rows.map((row) => periodRow.parse(row)).map((row) => [row.budget_id, row] as const),
  );
}

export interface Entry {
  budgetId: number;
  startedAt: number;
  kind: 'grant' | 'reset';
  /** Granted units, or those that were used of the period that a reset ended. */
  amount: number;
  reason: string;
  authorId: number;
}

/** Writes a line of the budget's ledger. A grant raises what its period may use. */
export async function addEntry(
  tx: EntityManager,
  { budgetId, startedAt, kind, amount, reason, authorId }: Entry,
): Promise<void> {
  await tx.query(
    'INSERT INTO budget_entries (budget_id, started_at, kind, amount, reason, author_id) VALUES ($1, $2, $3, $4, $5, $6)',
    [budgetId, startedAt, kind, amount, reason, authorId],
  );
  await tx.query(
    `INSERT INTO budget_periods (budget_id, started_at, granted) VALUES ($1, $2, $3)
     ON CONFLICT (budget_id, started_at) DO UPDATE SET granted = budget_periods.granted + excluded.granted`,
    [budgetId, startedAt, kind === 'grant' ? amount : 0],
  );
}

/** Newest first. */
export async function readEntries(
  tx: Pick<DataSource, 'query'>,
  budgetId: number,
): Promise<EntryRow[]> {
  const rows: unknown[] = await tx.query(
    `SELECT id, kind, amount, started_at, reason, author_id, created_at FROM budget_entries WHERE budget_id = $1 ORDER BY id DESC LIMIT ${ENTRIES_SHOWN}`,
    [budgetId],
  );
  return rows.map((row) => entryRow.parse(row));
}

const bookedRow = z
  .object({ id: z.number(), user_id: z.number(), started_at: integer, used: integer })
  .transform((row) => ({
    id: row.id,
    accountId: row.user_id,
    startedAt: row.started_at,
    used: row.used,
  }));
/** Returns the booked use of a budget in its current period, less what Redis never counted. */
export type BookedPeriod = z.output<typeof bookedRow>;

/** Returns the current periods of these budgets, or of the next ones after an id, of which something is booked. */
export async function readBookedPeriods(
  dataSource: Pick<DataSource, 'query'>,
  which: { ids: readonly number[] } | { afterId: number; limit: number },
): Promise<BookedPeriod[]> {
  if ('ids' in which && which.ids.length === 0) return [];
  const [where, parameters] =
    'ids' in which
      ? ['b.id = ANY($1::int[])', [which.ids]]
      : ['b.id > $1 ORDER BY b.id LIMIT $2', [which.afterId, which.limit]];
  const rows: unknown[] = await dataSource.query(
    `SELECT b.id, b.user_id, p.started_at, p.used - p.late AS used FROM budgets b JOIN budget_periods p ON p.budget_id = b.id
       AND p.started_at = (SELECT max(start) FROM unnest(b.starts) start WHERE start <= extract(epoch FROM now()))
     WHERE b.deleted_at IS NULL AND p.used > p.late AND ${where}`,
    [...parameters],
  );
  return rows.map((row) => bookedRow.parse(row));
}
