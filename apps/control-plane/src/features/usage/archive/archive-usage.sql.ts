import { DataSource, type QueryRunner } from 'typeorm';
import { z } from 'zod';
import { Archive, type ArchivedDay } from './archive.ts';
import type { ArchiveStore } from './archive-store.ts';

/** Is the number of rows in memory at a time. */
const PAGE = 5_000;
/** A final may come a day late, from the journal of a node that was away, so younger days are not archived yet. */
const SETTLED_AFTER_DAYS = 2;

const dayRow = z.object({ day: z.string(), rows: z.coerce.number() });
const columnRow = z.object({ name: z.string() });
const cells = z.array(z.union([z.string(), z.null()]));

export interface DayReport {
  day: string;
  rows: number;
  /** `written` means now; `unchanged` that the store had the day already; `pending` that a dry run would write it. */
  state: 'written' | 'unchanged' | 'pending';
}

/**
 * Exports single requests, one file for a day or several for a large day, and notes in PostgreSQL which days it has. A day that the store has
 * completely, with as many rows as the database, is skipped, so a repeated or interrupted export continues. One day is read from one snapshot of the
 * database.
 */
export async function* archiveUsage(
  dataSource: DataSource,
  {
    store,
    isDryRun,
    partBytesMax,
  }: { store: ArchiveStore; isDryRun: boolean; partBytesMax?: number },
): AsyncGenerator<DayReport> {
  const columns = await columnsOf(dataSource);
  const archive = isDryRun ? null : await Archive.open(store, columns, partBytesMax);
  for (const { day, rows } of await daysOf(dataSource)) {
    if (!archive) {
      yield { day, rows, state: 'pending' };
      continue;
    }
    const known = await archive.whole(day);
    const isKnown = known?.rows === rows;
    const entry = isKnown ? known : await writeDay(dataSource, { archive, columns, day });
    await note(dataSource, day, entry);
    yield { day, rows: entry.rows, state: isKnown ? 'unchanged' : 'written' };
  }
}

async function columnsOf(dataSource: DataSource): Promise<string[]> {
  const rows: unknown[] = await dataSource.query(
    "SELECT attname AS name FROM pg_attribute WHERE attrelid = 'usage_events'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
  );
  return rows.map((row) => columnRow.parse(row).name);
}

async function daysOf(dataSource: DataSource): Promise<z.output<typeof dayRow>[]> {
  const rows: unknown[] = await dataSource.query(
    "SELECT day::text, count(*) AS rows FROM usage_events WHERE day < (now() AT TIME ZONE 'UTC')::date - $1::int GROUP BY day ORDER BY day",
    [SETTLED_AFTER_DAYS],
  );
  return rows.map((row) => dayRow.parse(row));
}

async function writeDay(
  dataSource: DataSource,
  { archive, columns, day }: { archive: Archive; columns: readonly string[]; day: string },
): Promise<ArchivedDay> {
  const runner = dataSource.createQueryRunner();
  try {
    await runner.startTransaction('REPEATABLE READ');
    await runner.query(`
      SET LOCAL statement_timeout = 0;
      SET LOCAL TIME ZONE 'UTC';
      DECLARE archived NO SCROLL CURSOR FOR
        SELECT ARRAY[${columns.map((name) => `"${name}"::text`).join(', ')}] AS cells FROM usage_events WHERE day = '${z.iso.date().parse(day)}' ORDER BY rid, seq`);
    const entry = await archive.write(day, pagesOf(runner));
    await runner.commitTransaction();
    return entry;
  } catch (error) {
    await runner.rollbackTransaction().catch(() => undefined);
    throw error;
  } finally {
    await runner.release();
  }
}

async function* pagesOf(runner: QueryRunner): AsyncGenerator<(string | null)[]> {
  for (;;) {
    const rows: { cells: unknown }[] = await runner.query(`FETCH ${PAGE} FROM archived`);
    for (const row of rows) yield cells.parse(row.cells);
    if (rows.length < PAGE) return;
  }
}

async function note(
  dataSource: DataSource,
  day: string,
  { rows, sha256 }: ArchivedDay,
): Promise<void> {
  await dataSource.query(
    `INSERT INTO usage_archives (day, rows, sha256) VALUES ($1, $2, $3)
     ON CONFLICT (day) DO UPDATE SET rows = excluded.rows, sha256 = excluded.sha256, archived_at = now()
     WHERE (usage_archives.rows, usage_archives.sha256) IS DISTINCT FROM (excluded.rows, excluded.sha256)`,
    [day, rows, sha256],
  );
}
