import { Injectable } from '@nestjs/common';
import { isModelAllowed } from '@tollgate/keyspace';
import { formatAmount, type Micros } from '@tollgate/money';
import { IsNull, type EntityManager } from 'typeorm';
import { Refusal } from '../../platform/http/refusal.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { raiseBudgetAlerts } from './budget-alerts.sql.ts';
import { addEntry, readPeriods } from './budget-periods.sql.ts';
import { BudgetRow } from './budget.entity.ts';
import { countedNow } from './budgets.service.ts';
import { admittedIn } from './calendar.ts';

/** Is thrown when a budget of purchases does not cover a purchase. */
export class PurchaseNotCovered extends Refusal {}

export interface BudgetedPurchase {
  userId: number;
  model: string;
  cost: Micros;
  /** Is the reference of the purchase's ledger transaction. */
  reference: string;
}

/** Counts purchases of auto-recharge in the account's budgets of purchases. */
@Injectable()
export class PurchaseBudgets {
  constructor(private readonly alerts: AlertsService) {}

  /**
   * Counts a purchase in the buying transaction, after it has locked the wallet, so that two simultaneous purchases count each other. Throws
   * PurchaseNotCovered; the transaction must then not commit.
   */
  async count(tx: EntityManager, purchase: BudgetedPurchase): Promise<void> {
    const budgets = await budgetsOf(tx, purchase);
    for (const budget of budgets) await refuseBeyond(tx, budget, purchase);
    const second = Math.floor(Date.now() / 1_000);
    for (const budget of budgets) {
      const startedAt = admittedIn(budget, second);
      await addEntry(tx, {
        ...{ budgetId: budget.id, startedAt, kind: 'purchase', amount: Number(purchase.cost) },
        ...{ reason: purchase.reference, authorId: purchase.userId },
      });
      const booked = { budget_id: budget.id, started_at: startedAt, value: '' };
      await raiseBudgetAlerts(tx, this.alerts, [
        { ...booked, notifies: budget.notifyAt.length > 0 },
      ]);
    }
  }
}

async function budgetsOf(
  tx: EntityManager,
  { userId, model }: BudgetedPurchase,
): Promise<BudgetRow[]> {
  const rows = await tx.getRepository(BudgetRow).find({
    where: { userId, of: 'purchases', deletedAt: IsNull() },
    order: { id: 'ASC' },
  });
  return rows.filter(({ models }) => isModelAllowed(models, model));
}

async function refuseBeyond(
  tx: EntityManager,
  budget: BudgetRow,
  { cost }: BudgetedPurchase,
): Promise<void> {
  if (budget.action === 'notify') return;
  const counted = [{ budgetId: budget.id, countedFrom: countedNow(budget) }];
  const period = (await readPeriods(tx, counted)).get(budget.id);
  const limit = BigInt(budget.amount + (period?.granted ?? 0));
  const used = BigInt(period?.used ?? 0);
  if (used + cost <= limit) return;
  throw new PurchaseNotCovered('limit_reached', {
    detail: `Budget ${budget.id} does not cover the purchase: ${formatAmount(used)} of ${formatAmount(limit)} is bought, and this costs ${formatAmount(cost)}`,
  });
}
