import type { DataSource, EntityManager } from 'typeorm';
import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';

const integer = z.union([z.string(), z.number()]).transform(toSafeInteger);
const periodRow = z.object({
  budget_id: z.number(),
  started_at: integer,
  used: integer,
  granted: integer,
  values: integer,
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

/**
 * Returns the period of each budget that began at the second beside it, where anything was used of it or granted for it. Of a budget that counts sessions or end users,
 * `used` is what the one with most has used, and `values` their number.
 */
export async function readPeriods(
  tx: Pick<DataSource, 'query'>,
  periods: readonly { budgetId: number; startedAt: number }[],
): Promise<Map<number, PeriodRow>> {
  const rows: unknown[] = await tx.query(
    `SELECT budget_id, started_at, max(p.used) AS used, max(p.granted) AS granted, count(*) FILTER (WHERE p.value <> '') AS values FROM budget_periods p
     JOIN unnest($1::int[], $2::bigint[]) AS w(budget_id, started_at) USING (budget_id, started_at) GROUP BY budget_id, started_at`,
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
     ON CONFLICT (budget_id, started_at, value) DO UPDATE SET granted = budget_periods.granted + excluded.granted`,
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
  .object({
    id: z.number(),
    user_id: z.number(),
    started_at: integer,
    value: z.string(),
    used: integer,
  })
  .transform((row) => ({
    id: row.id,
    accountId: row.user_id,
    startedAt: row.started_at,
    value: row.value,
    used: row.used,
  }));
/** Returns the booked use of a budget in its current period: all of it for a session or an end user, else less what Redis never counted. */
export type BookedPeriod = z.output<typeof bookedRow>;
/** Names what is counted: a budget, and the session or the end user where it counts each by itself. */
export type Counted = Pick<BookedPeriod, 'id' | 'value'>;

const BOOKED_PERIODS = `
  SELECT b.id, b.user_id, p.started_at, p.value, CASE WHEN p.value = '' THEN p.used - p.late ELSE p.used END AS used
  FROM budgets b JOIN budget_periods p ON p.budget_id = b.id
    AND p.started_at = (SELECT max(start) FROM unnest(b.starts) start WHERE start <= extract(epoch FROM now()))
  WHERE b.deleted_at IS NULL AND p.used > CASE WHEN p.value = '' THEN p.late ELSE 0 END`;

/** Returns the current periods of these budgets, or of the next ones behind one, of which something is booked. */
export async function readBookedPeriods(
  dataSource: Pick<DataSource, 'query'>,
  which: { of: readonly Counted[] } | { after: Counted; limit: number },
): Promise<BookedPeriod[]> {
  if ('of' in which && which.of.length === 0) return [];
  const rows: unknown[] = await ('of' in which
    ? dataSource.query(
        `${BOOKED_PERIODS} AND (b.id, p.value) IN (SELECT * FROM unnest($1::int[], $2::text[]))`,
        [which.of.map(({ id }) => id), which.of.map(({ value }) => value)],
      )
    : dataSource.query(
        `${BOOKED_PERIODS} AND (b.id, p.value) > ($1, $2) ORDER BY b.id, p.value LIMIT $3`,
        [which.after.id, which.after.value, which.limit],
      ));
  return rows.map((row) => bookedRow.parse(row));
}

/** Forgets what sessions and end users used in periods that began so many seconds ago. Redis and admission know them no longer. */
export async function dropValues(
  dataSource: Pick<DataSource, 'query'>,
  olderThanS: number,
): Promise<void> {
  await dataSource.query(
    "DELETE FROM budget_periods WHERE value <> '' AND started_at < extract(epoch FROM now()) - $1",
    [olderThanS],
  );
}

/** Is true when sessions or end users have shared one count of this budget in this period. */
export async function isShared(
  tx: Pick<DataSource, 'query'>,
  { budgetId, startedAt }: { budgetId: number; startedAt: number },
): Promise<boolean> {
  const found: unknown[] = await tx.query(
    "SELECT FROM budget_periods WHERE budget_id = $1 AND started_at = $2 AND value IN ('s+', 'u+')",
    [budgetId, startedAt],
  );
  return found.length > 0;
}
