import { readClaims, usedUnits, type BudgetClaim } from '@tollgate/contracts';
import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { prepared } from '../../platform/database/prepared.ts';
import { afterCommit } from '../../platform/database/transactions.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import { raiseBudgetAlerts } from './budget-alerts.sql.ts';
import { BudgetGuard } from './budget-guard.ts';
import { integer } from './budget-periods.sql.ts';

/** Holds the charge of one usage event and the budgets in which its request was admitted. */
export interface BudgetedUse {
  accountId: number;
  /** Is text as `readClaims` reads it. */
  claims: string;
  /** Is 1 for the correction of a charge that was booked as 0. */
  seq: number;
  delta: number;
  /** Is the charge of the whole request, or null when only the delta is known. */
  charge: number | null;
  /** Counts the plain tokens of the whole request; null for a reap, which does not know them. */
  reported: number | null;
}

interface PeriodDelta {
  budgetId: number;
  period: number;
  /** Is the value that `BudgetClaim` describes. */
  value: string;
  accountId: number;
  used: number;
  late: number;
}

const bookedRow = z.object({
  budget_id: z.number(),
  started_at: integer,
  value: z.string(),
  user_id: z.number(),
  key_id: z.number().nullable(),
  notifies: z.boolean(),
});

/**
 * Books use in budget periods. A budget of another account than the request's is skipped: only a damaged final names one. The rows are locked in a
 * fixed order, so that workers never deadlock.
 */
const BOOK = prepared(`
  WITH booked AS (
    INSERT INTO budget_periods AS p (budget_id, started_at, used, late, value)
    SELECT v.budget_id, v.period, v.used, v.late, v.value FROM unnest($1::int[], $2::bigint[], $3::int[], $4::bigint[], $5::bigint[], $6::text[]) AS v(budget_id, period, user_id, used, late, value)
      JOIN budgets b ON b.id = v.budget_id AND b.user_id = v.user_id
    ORDER BY v.budget_id, v.period, v.value
    ON CONFLICT (budget_id, started_at, value) DO UPDATE SET used = p.used + excluded.used, late = p.late + excluded.late
    RETURNING budget_id, started_at, value)
  SELECT k.*, b.user_id, b.key_id, b.notify_at <> '{}' AS notifies FROM booked k JOIN budgets b ON b.id = k.budget_id WHERE b.deleted_at IS NULL`);

/** Books usage in the periods in which its requests were admitted, in the transaction that books the usage. */
@Injectable()
export class BudgetBooking {
  constructor(
    private readonly alerts: AlertsService,
    private readonly live: LiveStateService,
    @Inject(BudgetGuard) private readonly guard: Pick<BudgetGuard, 'used'>,
  ) {}

  /**
   * `missed` is the part of `booked` that Redis does not count; it lowers the limit of its period in Redis. `adopted` is usage that Redis counts
   * although it was missed when it was booked.
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
    await raiseBudgetAlerts(tx, this.alerts, rows);
    const counted = rows.map(({ budget_id: id, started_at: startedAt, value }) => ({
      id,
      startedAt,
      value,
    }));
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
    for (const claim of readClaims(claims)) {
      const { budgetId, period, value } = claim;
      const name = `${budgetId}:${period}:${accountId}:${value}`;
      const known = byPeriod.get(name) ?? { budgetId, period, value, accountId, used: 0, late: 0 };
      const units = unitsOf(claim, use);
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

/** Returns the units of an event. A correction counts the units of the whole request minus those of its first charge. */
function unitsOf(
  claim: BudgetClaim,
  { seq, delta, charge, reported }: Omit<BudgetedUse, 'accountId' | 'claims'>,
): number {
  if (seq === 0 || charge === null) return usedUnits(claim, Math.max(0, delta), reported);
  return usedUnits(claim, charge, reported) - usedUnits(claim, Math.max(0, charge - delta), null);
}
