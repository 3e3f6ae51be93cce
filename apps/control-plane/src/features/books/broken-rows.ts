import type { DataSource } from 'typeorm';
import { EQUALITIES } from './equalities.ts';

const STATEMENT_TIMEOUT_MS = 10 * 60_000;
const COUNTED_MAX = 100;

/** Rows that break an equality. One statement sees one moment, so nothing that is being booked looks like an error. It may run longer than a request's. */
export function brokenRows(
  dataSource: DataSource,
  name: keyof typeof EQUALITIES,
): Promise<object[]> {
  return dataSource.transaction(async (tx) => {
    await tx.query(`SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}`);
    return tx.query(`SELECT * FROM (${EQUALITIES[name].sql}) broken LIMIT ${COUNTED_MAX}`);
  });
}

export const EQUALITY_NAMES = Object.keys(EQUALITIES) as (keyof typeof EQUALITIES)[];
