import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { tryLock } from '../../platform/database/advisory-hold.ts';
import { ADVISORY_LOCKS } from '../../platform/database/advisory-locks.ts';
import { Watch } from '../../platform/background/watch.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { keepStateAlerts } from '../alerts/state-alerts.ts';

const LOOK_MS = 60_000;

/** A tenth or less of the last purchase is left and nothing buys by itself; a failing auto-recharge has an alert of its own. */
const LOW = `
  SELECT 'subscription:' || subscription.id AS subject, subscription.user_id, subscription.model_id, subscription.balance::text, lot.tokens::text AS bought
  FROM subscriptions subscription
  CROSS JOIN LATERAL (SELECT tokens FROM token_lots WHERE subscription_id = subscription.id ORDER BY credit_seq DESC LIMIT 1) lot
  WHERE subscription.status = 'active' AND coalesce(subscription.auto_recharge_amount, 0) = 0 AND subscription.balance <= lot.tokens / 10`;
/** Of the subjects in `$1` those of which nothing is overdrawn any more: by the correction it waited for, or by a purchase. */
const REPAID = `
  SELECT subject FROM unnest($1::text[]) AS open(subject)
  WHERE NOT EXISTS (SELECT FROM subscriptions WHERE 'subscription:' || id = subject AND overdraft > 0)`;
const lowRow = z.object({
  subject: z.string(),
  user_id: z.number(),
  model_id: z.number(),
  balance: z.string(),
  bought: z.string(),
});
const subjectRow = z.object({ subject: z.string() });

/** Raises and resolves `low_balance`; resolves `overdraft`. */
@Injectable()
export class BalanceWatch extends Watch {
  constructor(
    private readonly transactions: Transactions,
    private readonly alerts: AlertsService,
  ) {
    super({
      name: 'balance-watch',
      everyMs: LOOK_MS,
      failing: 'balances cannot be watched; trying again',
    });
  }

  async look(): Promise<void> {
    await this.transactions.run(async (tx) => {
      if (!(await tryLock(tx, ADVISORY_LOCKS.balanceWatch))) return;
      await keepStateAlerts(tx, this.alerts, {
        rule: 'low_balance',
        found: LOW,
        say: (row) => {
          const { subject, balance, bought, ...detail } = lowRow.parse(row);
          const message = `${Number(balance).toLocaleString('en')} of the ${Number(bought).toLocaleString('en')} tokens of the last purchase are left`;
          return { subject, message, detail: { ...detail, balance, bought } };
        },
      });
      await this.resolveRepaid(tx);
    });
  }

  private async resolveRepaid(tx: EntityManager): Promise<void> {
    const open = await this.alerts.openOf(tx, 'overdraft');
    const repaid: unknown[] = await tx.query(REPAID, [open.map(({ subject }) => subject)]);
    for (const { subject } of repaid.map((row) => subjectRow.parse(row)))
      await this.alerts.resolve(tx, { rule: 'overdraft', subject });
  }
}
