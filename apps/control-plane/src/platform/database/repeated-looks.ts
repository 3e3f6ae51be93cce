import type { DataSource } from 'typeorm';
import { z } from 'zod';
import { prepared } from './prepared.ts';

/**
 * Reads which transactions a statement sees, and of which start of which server: https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-PG-SNAPSHOT.
 * It changes with the end of every transaction that wrote.
 */
const MOMENT = prepared(
  `SELECT concat(pg_current_snapshot(), ' ', pg_postmaster_start_time()) AS moment`,
);
const momentRow = z.object({ moment: z.string() });

/** The rows that were found at the last moment. */
class Looks {
  private readonly dataSource: DataSource;
  private asking: Promise<string> | undefined;
  private moment = '';
  private readonly found = new Map<string, Promise<unknown[]>>();

  constructor(dataSource: DataSource) {
    this.dataSource = dataSource;
  }

  async look(sql: string, parameters: unknown[]): Promise<unknown[]> {
    const moment = await this.now();
    const key = parameters.length === 0 ? sql : `${sql} ${JSON.stringify(parameters)}`;
    const known = this.found.get(key);
    if (known) return known;
    const rows: Promise<unknown[]> = this.dataSource.query(sql, parameters);
    // A found row may be newer than its moment, never older: the next moment is another one then.
    if (moment === this.moment) this.found.set(key, rows);
    rows.catch(() => this.found.get(key) === rows && this.found.delete(key));
    return rows;
  }

  /** Looks of one turn of the event loop share a statement. */
  private async now(): Promise<string> {
    this.asking ??= this.ask().finally(() => (this.asking = undefined));
    return this.asking;
  }

  private async ask(): Promise<string> {
    const [row]: unknown[] = await this.dataSource.query(MOMENT);
    const { moment } = momentRow.parse(row);
    if (moment !== this.moment) this.found.clear();
    this.moment = moment;
    return moment;
  }
}

const looksOf = new WeakMap<DataSource, Looks>();

/**
 * The rows of a statement that is repeated every second or so, to see whether there is something to do. While no transaction has written anything, they are those of
 * before: an idle control plane asks PostgreSQL whether that is so, once for all looks, and nothing else. For statements that read tables and nothing beside them, neither
 * clock nor locks. They may be some milliseconds older than the call: what acts on them reads again.
 */
export function repeatedLook(
  dataSource: DataSource,
  sql: string,
  parameters: unknown[] = [],
): Promise<unknown[]> {
  const looks = looksOf.get(dataSource) ?? new Looks(dataSource);
  looksOf.set(dataSource, looks);
  return looks.look(sql, parameters);
}
