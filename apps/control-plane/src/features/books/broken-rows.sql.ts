import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { EQUALITIES, RULES, USAGE_DAY, type Rule } from './equalities.ts';

const STATEMENT_TIMEOUT_MS = 10 * 60_000;
const COUNTED_MAX = 100;
/** A transaction fits this type, too. */
type Database = Pick<EntityManager, 'query' | 'transaction'>;
const nextDay = z.tuple([z.object({ day: z.string().nullable() })]);

/** Holds every check of PostgreSQL's books: equalities of sums, and rules. */
export const CHECKED = { ...EQUALITIES, ...RULES };
export const CHECKED_NAMES = Object.keys(CHECKED) as (keyof typeof CHECKED)[];

/**
 * Finds rows that break an equality or a rule. One statement sees one moment, so usage that is being booked does not look like an error. A statement
 * may run longer than one of a request. Usage is read day by day from the day `since` (YYYY-MM-DD) on, because a day is a partition and one statement
 * could not read all of them.
 */
export async function brokenRows(
  dataSource: Database,
  name: keyof typeof CHECKED,
  since = '-infinity',
): Promise<object[]> {
  const checked = CHECKED[name];
  if (!('table' in checked)) return rowsOf(dataSource, checked.sql);
  const { isByDay, sql }: Rule = checked;
  if (!isByDay) return rowsOf(dataSource, sql('true'));
  const found: object[] = [];
  for (let day = await dayFrom(dataSource, USAGE_DAY.from, since); day !== null;) {
    found.push(...(await rowsOf(dataSource, sql('u.day = $1'), [day])));
    if (found.length >= COUNTED_MAX) break;
    day = await dayFrom(dataSource, USAGE_DAY.after, day);
  }
  return found.slice(0, COUNTED_MAX);
}

function rowsOf(
  dataSource: Database,
  sql: string,
  parameters: readonly string[] = [],
): Promise<object[]> {
  return dataSource.transaction(async (tx) => {
    await tx.query(`SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}`);
    return tx.query(`SELECT * FROM (${sql}) broken LIMIT ${COUNTED_MAX}`, [...parameters]);
  });
}

async function dayFrom(dataSource: Database, sql: string, day: string): Promise<string | null> {
  const rows: unknown = await dataSource.query(sql, [day]);
  return nextDay.parse(rows)[0].day;
}
