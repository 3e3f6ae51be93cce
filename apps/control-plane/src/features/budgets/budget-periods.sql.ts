import type { DataSource, EntityManager } from 'typeorm';
import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';
import { WINDOW_BUCKETS } from './calendar.ts';

export const integer = z.union([z.string(), z.number()]).transform(toSafeInteger);
const periodRow = z.object({
  budget_id: z.number(),
  used: integer,
  granted: integer,
  values: integer,
  used_from: integer.nullable(),
});
export type PeriodRow = z.output<typeof periodRow>;
const entryRow = z.object({
  id: integer,
  kind: z.enum(['grant', 'reset', 'purchase']),
  amount: integer,
  started_at: integer,
  reason: z.string(),
  author_id: z.number(),
  created_at: z.date(),
});
export type EntryRow = z.output<typeof entryRow>;

const ENTRIES_SHOWN = 200;

/**
 * Computes the start of the first period that a budget `b` counts now, as `countedFrom` of calendar.ts does. No later period begins before it ends;
 * of a rolling budget all later buckets count, too.
 */
export const COUNTED_FROM = `CASE WHEN b.window_minutes IS NULL
  THEN coalesce((SELECT max(start) FROM unnest(b.starts) start WHERE start <= extract(epoch FROM now())), b.starts[1])
  ELSE greatest(b.starts[1], (floor(extract(epoch FROM now()) / b.window_minutes)::bigint - ${WINDOW_BUCKETS - 1}) * b.window_minutes) END`;

/**
 * Returns the use and the grants of each budget in the periods from the given second on, where there are any. For a budget that counts sessions or
 * end users separately, `used` is the largest use and `values` their number. `used_from` is the first period with use.
 */
export async function readPeriods(
  tx: Pick<DataSource, 'query'>,
  budgets: readonly { budgetId: number; countedFrom: number }[],
): Promise<Map<number, PeriodRow>> {
  const rows: unknown[] = await tx.query(
    `SELECT budget_id, max(used) AS used, max(granted) AS granted, count(*) FILTER (WHERE value <> '') AS values, min(used_from) AS used_from FROM (
       SELECT budget_id, p.value, sum(p.used) AS used, sum(p.granted) AS granted, min(p.started_at) FILTER (WHERE p.used > 0) AS used_from FROM budget_periods p
       JOIN unnest($1::int[], $2::bigint[]) AS w(budget_id, counted_from) USING (budget_id) WHERE p.started_at >= w.counted_from GROUP BY budget_id, p.value) v
     GROUP BY budget_id`,
    [budgets.map(({ budgetId }) => budgetId), budgets.map(({ countedFrom }) => countedFrom)],
  );
  return new Map(
    rows.map((row) => periodRow.parse(row)).map((row) => [row.budget_id, row] as const),
  );
}

export interface Entry {
  budgetId: number;
  startedAt: number;
  kind: 'grant' | 'reset' | 'purchase';
  /** Counts the granted units, the used units of the period that a reset ended, or the cost of a purchase. */
  amount: number;
  reason: string;
  authorId: number;
}

/** Writes a line of the budget's ledger. A grant raises the limit of its period, a purchase its use. */
export async function addEntry(
  tx: EntityManager,
  { budgetId, startedAt, kind, amount, reason, authorId }: Entry,
): Promise<void> {
  await tx.query(
    'INSERT INTO budget_entries (budget_id, started_at, kind, amount, reason, author_id) VALUES ($1, $2, $3, $4, $5, $6)',
    [budgetId, startedAt, kind, amount, reason, authorId],
  );
  await tx.query(
    `INSERT INTO budget_periods (budget_id, started_at, granted, used) VALUES ($1, $2, $3, $4)
     ON CONFLICT (budget_id, started_at, value) DO UPDATE SET granted = budget_periods.granted + excluded.granted, used = budget_periods.used + excluded.used`,
    [budgetId, startedAt, kind === 'grant' ? amount : 0, kind === 'purchase' ? amount : 0],
  );
}

/** Lists the entries of a budget, newest first. */
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
/**
 * Returns the booked use of a budget in a period that counts now: the whole use for a session or an end user, otherwise without the use that Redis
 * never counted.
 */
export type BookedPeriod = z.output<typeof bookedRow>;
/** Names a counter: a budget, a period, and the session or end user where the budget counts each separately. */
export type Counted = Pick<BookedPeriod, 'id' | 'startedAt' | 'value'>;

const BOOKED_PERIODS = `
  SELECT b.id, b.user_id, p.started_at, p.value, CASE WHEN p.value = '' THEN p.used - p.late ELSE p.used END AS used
  FROM budgets b JOIN budget_periods p ON p.budget_id = b.id AND p.started_at >= ${COUNTED_FROM}
  WHERE b.deleted_at IS NULL AND b.of = 'usage' AND p.used > CASE WHEN p.value = '' THEN p.late ELSE 0 END`;

/** Returns the booked use of those of these periods that count now; page by page, after the given one. */
export async function readBookedPeriods(
  dataSource: Pick<DataSource, 'query'>,
  which: { of: readonly Counted[] } | { after: Counted; limit: number },
): Promise<BookedPeriod[]> {
  if ('of' in which && which.of.length === 0) return [];
  const rows: unknown[] = await ('of' in which
    ? dataSource.query(
        `${BOOKED_PERIODS} AND (b.id, p.started_at, p.value) IN (SELECT * FROM unnest($1::int[], $2::bigint[], $3::text[]))`,
        [
          which.of.map(({ id }) => id),
          which.of.map(({ startedAt }) => startedAt),
          which.of.map(({ value }) => value),
        ],
      )
    : dataSource.query(
        `${BOOKED_PERIODS} AND (b.id, p.started_at, p.value) > ($1, $2, $3) ORDER BY b.id, p.started_at, p.value LIMIT $4`,
        [which.after.id, which.after.startedAt, which.after.value, which.limit],
      ));
  return rows.map((row) => bookedRow.parse(row));
}

/**
 * Deletes the use of sessions and end users in periods that began before `valuesKeptS`, and buckets that left their window before `bucketsKeptS`.
 * Redis and admission no longer know them. A bucket with a grant is kept for the grant's entry.
 */
export async function dropPeriods(
  dataSource: Pick<DataSource, 'query'>,
  { valuesKeptS, bucketsKeptS }: { valuesKeptS: number; bucketsKeptS: number },
): Promise<void> {
  await dataSource.query(
    "DELETE FROM budget_periods WHERE value <> '' AND started_at < extract(epoch FROM now()) - $1",
    [valuesKeptS],
  );
  await dataSource.query(
    `DELETE FROM budget_periods p USING budgets b WHERE b.id = p.budget_id AND b.window_minutes IS NOT NULL AND p.granted = 0
       AND p.started_at < extract(epoch FROM now()) - 60 * b.window_minutes - $1`,
    [bucketsKeptS],
  );
}

/** Returns whether sessions or end users have shared one count of this budget since that time. */
export async function isShared(
  tx: Pick<DataSource, 'query'>,
  { budgetId, countedFrom }: { budgetId: number; countedFrom: number },
): Promise<boolean> {
  const found: unknown[] = await tx.query(
    "SELECT FROM budget_periods WHERE budget_id = $1 AND started_at >= $2 AND value IN ('s+', 'u+')",
    [budgetId, countedFrom],
  );
  return found.length > 0;
}
