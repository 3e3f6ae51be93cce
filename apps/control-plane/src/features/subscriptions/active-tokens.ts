import type { DataSource } from 'typeorm';
import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';

const integer = z.union([z.string(), z.number()]).transform(toSafeInteger);
const tokensRow = z
  .object({ count: integer, tokens: integer })
  .transform(({ count, tokens }) => ({ active: count, tokens }));

/** Active subscriptions, and the tokens on all of them. */
export async function activeTokens(
  dataSource: Pick<DataSource, 'query'>,
): Promise<z.output<typeof tokensRow>> {
  const rows: unknown[] = await dataSource.query(
    `SELECT count(*)::bigint AS count, least(coalesce(sum(balance), 0), ${Number.MAX_SAFE_INTEGER})::bigint AS tokens
     FROM subscriptions WHERE status = 'active'`,
  );
  return tokensRow.parse(rows[0]);
}
