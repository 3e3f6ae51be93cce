import { claimUnits, readClaims } from '@tollgate/contracts';
import { Inject, Injectable } from '@nestjs/common';
import { SCOPE_VALUES_MAX } from '@tollgate/keyspace';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { toSafeInteger } from '../../platform/database/columns.ts';
import { prepared } from '../../platform/database/prepared.ts';
import { afterCommit } from '../../platform/database/transactions.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import { BudgetGuard } from './budget-guard.ts';
import { writeAmount, BUDGET_UNITS } from './budgets.dto.ts';

/** Holds the charge of one usage event and the budgets in which its request was admitted. */
export interface BudgetedUse {
  accountId: number;
  /** See `readClaims`. */
  claims: string;
  /** 1 corrects a charge that was booked as 0. */
  seq: number;
  delta: number;
  /** The charge of the whole request, or null when only the delta is known. */
  charge: number | null;
}

interface PeriodDelta {
  budgetId: number;
  period: number;
  /** See `BudgetClaim`. */
  value: string;
  accountId: number;
  used: number;
  late: number;
}

const integer = z.union([z.string(), z.number()]).transform(toSafeInteger);
const bookedRow = z.object({
  budget_id: z.number(),
  started_at: integer,
  value: z.string(),
  user_id: z.number(),
  key_id: z.number().nullable(),
  unit: z.enum(BUDGET_UNITS),
  is_current: z.boolean(),
  limit_now: integer,
  used: integer,
  reached: z.number(),
  notified: z.number(),
});
type BookedRow = z.output<typeof bookedRow>;

/** Ends the value of all that come beyond those that Redis counts. */
const SHARED = '+';

/** A budget of another account than the request's is left out: only a damaged final names one. In one order, so that workers wait for each other and never in a circle. */
const BOOK = prepared(`
  WITH booked AS (
    INSERT INTO budget_periods AS p (budget_id, started_at, used, late, value)
    SELECT v.budget_id, v.period, v.used, v.late, v.value FROM unnest($1::int[], $2::bigint[], $3::int[], $4::bigint[], $5::bigint[], $6::text[]) AS v(budget_id, period, user_id, used, late, value)
      JOIN budgets b ON b.id = v.budget_id AND b.user_id = v.user_id
    ORDER BY v.budget_id, v.period, v.value
    ON CONFLICT (budget_id, started_at, value) DO UPDATE SET used = p.used + excluded.used, late = p.late + excluded.late
    RETURNING budget_id, started_at, value, used, granted, notified)
  SELECT k.budget_id, k.started_at, k.value, b.user_id, b.key_id, b.unit, b.amount + g.granted AS limit_now, k.used, k.notified,
    NOT EXISTS (SELECT FROM unnest(b.starts) s WHERE s > k.started_at AND s <= extract(epoch FROM now())) AS is_current,
    coalesce((SELECT max(n) FROM unnest(b.notify_at) n WHERE k.used::numeric * 100 >= n * (b.amount + g.granted)::numeric), 0) AS reached
  FROM booked k JOIN budgets b ON b.id = k.budget_id,
    LATERAL (SELECT CASE WHEN k.value = '' THEN k.granted ELSE coalesce((SELECT granted FROM budget_periods p
      WHERE p.budget_id = k.budget_id AND p.started_at = k.started_at AND p.value = ''), 0) END AS granted) g
  WHERE b.deleted_at IS NULL`);
const NOTED =
  'UPDATE budget_periods SET notified = $3 WHERE budget_id = $1 AND started_at = $2 AND value = $4 AND notified < $3';

/** Counts booked usage in the periods in which its requests were admitted, in the transaction that books it. */
@Injectable()
export class BudgetBooking {
  constructor(
    private readonly alerts: AlertsService,
    private readonly live: LiveStateService,
    @Inject(BudgetGuard) private readonly guard: Pick<BudgetGuard, 'used'>,
  ) {}

  /**
   * `missed`: the part of `booked` that Redis does not count. `adopted`: usage that was missed when it was booked, and that Redis counts after all. What it does not
   * count lowers the limit of its period there.
   */
  async book(
    tx: EntityManager,
    uses: Readonly<Record<'booked' | 'missed' | 'adopted', readonly BudgetedUse[]>>,
  ): Promise<void> {
    const deltas = deltasOf(uses);
    if (deltas.length === 0) return;
    const raw: unknown[] = await tx.query(BOOK, [
      deltas.map(({ budgetId }) => budgetId),
      deltas.map(({ period }) => period),
      deltas.map(({ accountId }) => accountId),
      deltas.map(({ used }) => used),
      deltas.map(({ late }) => late),
      deltas.map(({ value }) => value),
    ]);
    const rows = raw.map((row) => bookedRow.parse(row));
    for (const row of rows) await this.notify(tx, row);
    for (const row of rows) if (row.value.endsWith(SHARED)) await this.noteShared(tx, row);
    const counted = rows.map(({ budget_id: id, value }) => ({ id, value }));
    afterCommit(tx, async () => this.guard.used(counted));
    const late = new Set(
      // The guard counts late usage of a session or an end user in Redis instead.
      deltas
        .filter(({ late, value }) => late !== 0 && value === '')
        .map(({ budgetId }) => budgetId),
    );
    for (const { budget_id, user_id: userId, key_id: keyId } of rows)
      if (late.has(budget_id)) await this.live.budgetsChanged(tx, { userId, keyId });
  }

  private async noteShared(tx: EntityManager, row: BookedRow): Promise<void> {
    const message = `Budget ${row.budget_id} has met more than ${SCOPE_VALUES_MAX} sessions or end users; those beyond share one count`;
    const detail = { budget_id: row.budget_id, values_max: SCOPE_VALUES_MAX };
    const subject = `budget:${row.budget_id}:shared`;
    await this.alerts.raise(tx, { rule: 'budget_shared', subject, message, detail });
  }

  private async notify(tx: EntityManager, row: BookedRow): Promise<void> {
    if (!row.is_current || row.reached <= row.notified) return;
    await tx.query(NOTED, [row.budget_id, row.started_at, row.reached, row.value]);
    const [used, limit] = [row.used, row.limit_now].map((units) => writeAmount(row.unit, units));
    const detail = { budget_id: row.budget_id, unit: row.unit, used, limit, percent: row.reached };
    const rule = row.used >= row.limit_now ? 'budget_exhausted' : 'budget_threshold';
    const message =
      rule === 'budget_exhausted'
        ? `Budget ${row.budget_id} is used up: ${used} of ${limit} (${row.unit})`
        : `Budget ${row.budget_id} has reached ${row.reached} % of its amount: ${used} of ${limit} (${row.unit})`;
    // Each percentage has an alert of its own.
    const subject = `budget:${row.budget_id}:${row.reached}`;
    await this.alerts.raise(tx, { rule, subject, message, detail });
  }
}

function deltasOf({
  booked,
  missed,
  adopted,
}: Readonly<Record<'booked' | 'missed' | 'adopted', readonly BudgetedUse[]>>): PeriodDelta[] {
  const byPeriod = new Map<string, PeriodDelta>();
  const add = (
    { accountId, claims, ...use }: BudgetedUse,
    sign: { used: 0 | 1; late: -1 | 0 | 1 },
  ): void => {
    for (const { rate, ...claim } of readClaims(claims)) {
      const name = `${claim.budgetId}:${claim.period}:${accountId}:${claim.value}`;
      const known = byPeriod.get(name) ?? { ...claim, accountId, used: 0, late: 0 };
      const units = unitsOf(rate, use);
      byPeriod.set(name, {
        ...known,
        used: known.used + sign.used * units,
        late: known.late + sign.late * units,
      });
    }
  };
  for (const use of booked) add(use, { used: 1, late: 0 });
  for (const use of missed) add(use, { used: 0, late: 1 });
  for (const use of adopted) add(use, { used: 0, late: -1 });
  return [...byPeriod.values()].filter(({ used, late }) => used !== 0 || late !== 0);
}

/** A correction counts what the whole request has above what its first charge counted. */
function unitsOf(
  rate: number,
  { seq, delta, charge }: Omit<BudgetedUse, 'accountId' | 'claims'>,
): number {
  if (seq === 0 || charge === null) return claimUnits(rate, Math.max(0, delta));
  return claimUnits(rate, charge) - claimUnits(rate, Math.max(0, charge - delta));
}
