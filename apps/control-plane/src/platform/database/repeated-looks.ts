import type { DataSource } from 'typeorm';
import { z } from 'zod';
import { prepared } from './prepared.ts';

/**
 * Reads which transactions a statement sees and when the server started:
 * https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-PG-SNAPSHOT. The value changes whenever a transaction that wrote ends.
 */
const MOMENT = prepared(
  `SELECT concat(pg_current_snapshot(), ' ', pg_postmaster_start_time()) AS moment`,
);
const momentRow = z.object({ moment: z.string() });

/** Holds the rows that each statement returned at the last moment. */
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
    // A cached row may be newer than its moment, never older: a newer row comes with another moment.
    if (moment === this.moment) this.found.set(key, rows);
    rows.catch(() => this.found.get(key) === rows && this.found.delete(key));
    return rows;
  }

  /** Reads of one turn of the event loop share this statement. */
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
 * Returns the rows of a statement that repeats about every second to see whether there is work. While no transaction has written anything, it returns
 * the previous rows: an idle control plane asks PostgreSQL once for all repeated reads whether anything changed. It suits statements that read only
 * tables, neither the clock nor locks. The rows may be some milliseconds older than the call, so code that acts on them reads again.
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
