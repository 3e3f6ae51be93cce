import type { DataSource } from 'typeorm';
import { z } from 'zod';
import { BUDGET_UNITS } from './budgets.dto.ts';
import { COUNTED_FROM } from './budget-periods.sql.ts';

const fillRow = z
  .object({
    scope: z.enum(['key', 'account', 'session', 'end_user', 'purchases']),
    unit: z.enum(BUDGET_UNITS),
    share: z.coerce.number(),
    budgets: z.coerce.number(),
    used_up: z.coerce.number(),
  })
  .transform(({ used_up: usedUp, ...row }) => ({ ...row, usedUp }));

const UNITS = BUDGET_UNITS.map((unit) => `('${unit}')`).join(', ');

/** Returns for each scope and unit the largest used share of a current period, the number of budgets, and how many are used up. */
export async function readFills(
  dataSource: Pick<DataSource, 'query'>,
): Promise<z.output<typeof fillRow>[]> {
  const rows: unknown[] = await dataSource.query(`
    SELECT s.scope, u.unit, coalesce(max(f.share), 0) AS share, count(f.share) AS budgets, count(*) FILTER (WHERE f.share >= 1) AS used_up
    FROM (VALUES ('key'), ('account'), ('session'), ('end_user'), ('purchases')) s(scope) CROSS JOIN (VALUES ${UNITS}) u(unit) LEFT JOIN (
      SELECT CASE WHEN b.of = 'purchases' THEN 'purchases' ELSE coalesce(b.each, CASE WHEN b.key_id IS NULL THEN 'account' ELSE 'key' END) END AS scope, b.unit,
        CASE WHEN b.amount + p.granted > 0 THEN p.used / (b.amount + p.granted) ELSE 1 END AS share
      FROM budgets b, LATERAL (SELECT coalesce(max(v.used), 0) AS used, coalesce(max(v.granted), 0) AS granted FROM (
        SELECT sum(used) AS used, sum(granted) AS granted FROM budget_periods WHERE budget_id = b.id AND started_at >= ${COUNTED_FROM} GROUP BY value) v) p
      WHERE b.deleted_at IS NULL) f ON (f.scope, f.unit) = (s.scope, u.unit)
    GROUP BY s.scope, u.unit`);
  return rows.map((row) => fillRow.parse(row));
}
