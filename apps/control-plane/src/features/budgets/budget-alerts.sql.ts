import { SCOPE_VALUES_MAX } from '@tollgate/keyspace';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { prepared } from '../../platform/database/prepared.ts';
import type { AlertsService } from '../alerts/alerts.service.ts';
import { COUNTED_FROM, integer } from './budget-periods.sql.ts';
import { BUDGET_UNITS, writeAmount } from './budgets.dto.ts';

interface BookedIn {
  budget_id: number;
  started_at: number;
  value: string;
  /** Is true when the budget has percentages at which it notifies. */
  notifies: boolean;
}

const reachedRow = z.object({
  budget_id: z.number(),
  started_at: integer,
  value: z.string(),
  unit: z.enum(BUDGET_UNITS),
  is_rolling: z.boolean(),
  limit_now: integer,
  used: integer,
  reached: z.array(z.number()),
});
type ReachedRow = z.output<typeof reachedRow>;

/** Marks the shared count of all values beyond the number that Redis counts separately. */
const SHARED = '+';

/** Finds the percentages that these periods reached for the first time; a rolling budget counts its whole window. */
const REACHED = prepared(`
  SELECT * FROM (
    SELECT k.budget_id, k.started_at, k.value, b.unit, b.window_minutes IS NOT NULL AS is_rolling, c.limit_now, c.used,
      ARRAY(SELECT n FROM unnest(b.notify_at) n WHERE n > c.notified AND c.used::numeric * 100 >= n * c.limit_now::numeric ORDER BY n) AS reached
    FROM unnest($1::int[], $2::bigint[], $3::text[]) AS k(budget_id, started_at, value) JOIN budgets b ON b.id = k.budget_id,
      LATERAL (SELECT ${COUNTED_FROM} AS counted_from) f,
      LATERAL (SELECT b.amount + coalesce(sum(granted) FILTER (WHERE p.value = ''), 0) AS limit_now, coalesce(sum(used) FILTER (WHERE p.value = k.value), 0) AS used,
          coalesce(max(notified) FILTER (WHERE p.value = k.value), 0) AS notified
        FROM budget_periods p WHERE p.budget_id = k.budget_id AND p.value IN ('', k.value) AND p.started_at = ANY(CASE WHEN b.window_minutes IS NULL THEN ARRAY[k.started_at] ELSE
          ARRAY(SELECT s FROM generate_series(f.counted_from - f.counted_from % b.window_minutes, extract(epoch FROM now())::bigint, b.window_minutes) s WHERE s >= f.counted_from UNION SELECT f.counted_from) END)) c
    WHERE k.started_at >= f.counted_from) r
  WHERE reached <> '{}'`);
const NOTED =
  'UPDATE budget_periods SET notified = $3 WHERE budget_id = $1 AND started_at = $2 AND value = $4 AND notified < $3';

/** Raises an alert for each percentage that booked usage reached, once a period, and an alert where sessions or end users share a count. */
export async function raiseBudgetAlerts(
  tx: EntityManager,
  alerts: AlertsService,
  booked: readonly BookedIn[],
): Promise<void> {
  for (const row of booked) if (row.value.endsWith(SHARED)) await noteShared(tx, alerts, row);
  const notifying = booked.filter(({ notifies }) => notifies);
  if (notifying.length === 0) return;
  const raw: unknown[] = await tx.query(REACHED, [
    notifying.map((row) => row.budget_id),
    notifying.map((row) => row.started_at),
    notifying.map((row) => row.value),
  ]);
  for (const row of raw.map((each) => reachedRow.parse(each))) {
    await tx.query(NOTED, [row.budget_id, row.started_at, row.reached.at(-1), row.value]);
    for (const percent of row.reached) await raiseReached(tx, alerts, { row, percent });
  }
}

async function raiseReached(
  tx: EntityManager,
  alerts: AlertsService,
  { row, percent }: { row: ReachedRow; percent: number },
): Promise<void> {
  const [used, limit] = [row.used, row.limit_now].map((units) => writeAmount(row.unit, units));
  const detail = { budget_id: row.budget_id, unit: row.unit, used, limit, percent };
  const isUsedUp = row.used >= row.limit_now && percent === row.reached.at(-1);
  const rule = isUsedUp ? 'budget_exhausted' : 'budget_threshold';
  const message =
    rule === 'budget_exhausted'
      ? `Budget ${row.budget_id} is used up: ${used} of ${limit} (${row.unit})`
      : `Budget ${row.budget_id} has reached ${percent} % of its amount: ${used} of ${limit} (${row.unit})`;
  // Each percentage of a period has its own alert. A rolling window has no end, so its alert is raised again after it was resolved.
  const period = row.is_rolling ? '' : `:${row.started_at}`;
  const subject = `budget:${row.budget_id}:${percent}${period}`;
  await alerts.raise(tx, { rule, subject, message, detail });
}

async function noteShared(
  tx: EntityManager,
  alerts: AlertsService,
  { budget_id: budgetId }: BookedIn,
): Promise<void> {
  const message = `Budget ${budgetId} has met more than ${SCOPE_VALUES_MAX} sessions or end users; those beyond share one count`;
  const detail = { budget_id: budgetId, values_max: SCOPE_VALUES_MAX };
  await alerts.raise(tx, {
    rule: 'budget_shared',
    subject: `budget:${budgetId}:shared`,
    message,
    detail,
  });
}
