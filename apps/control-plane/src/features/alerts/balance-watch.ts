import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { z } from 'zod';
import { ADVISORY_LOCKS } from '../../platform/database/advisory-locks.ts';
import { BackgroundLoop } from '../../platform/background/background-loop.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { AlertsService } from './alerts.service.ts';

const LOOK_MS = 60_000;
const RETRY_MS = 5_000;
/** New alerts a look; the next look brings the rest. */
const RAISED_MAX = 500;

/** A tenth or less of the last purchase is left and nothing buys by itself; a failing auto-recharge has an alert of its own. */
const LOW = `
  SELECT 'subscription:' || subscription.id AS subject, subscription.user_id, subscription.model_id, subscription.balance::text, lot.tokens::text AS bought
  FROM subscriptions subscription
  CROSS JOIN LATERAL (SELECT tokens FROM token_lots WHERE subscription_id = subscription.id ORDER BY credit_seq DESC LIMIT 1) lot
  WHERE subscription.status = 'active' AND coalesce(subscription.auto_recharge_amount, 0) = 0 AND subscription.balance <= lot.tokens / 10`;
/** What was overdrawn is repaid: by the correction it waited for, or by a purchase. */
const REPAID = `
  SELECT alert.subject FROM alerts alert
  WHERE alert.rule = 'overdraft' AND alert.resolved_at IS NULL
    AND NOT EXISTS (SELECT FROM subscriptions WHERE 'subscription:' || id = alert.subject AND overdraft > 0)`;
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
export class BalanceWatch implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('balance-watch');
  private readonly loop = new BackgroundLoop({
    everyMs: LOOK_MS,
    retryMs: RETRY_MS,
    work: () => this.look(),
    onFailing: (error) => this.logger.warn(error, 'balances cannot be watched; trying again'),
  });

  constructor(
    private readonly transactions: Transactions,
    private readonly alerts: AlertsService,
  ) {}

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  async look(): Promise<void> {
    await this.transactions.run(async (tx) => {
      const [lock]: { got: boolean }[] = await tx.query(
        'SELECT pg_try_advisory_xact_lock($1) AS got',
        [ADVISORY_LOCKS.balanceWatch],
      );
      if (!lock?.got) return;
      const open = `SELECT subject FROM alerts WHERE rule = 'low_balance' AND resolved_at IS NULL`;
      const over: unknown[] = await tx.query(
        `${open} AND subject NOT IN (SELECT subject FROM (${LOW}) low)`,
      );
      for (const { subject } of over.map((row) => subjectRow.parse(row)))
        await this.alerts.resolve(tx, { rule: 'low_balance', subject });
      const repaid: unknown[] = await tx.query(REPAID);
      for (const { subject } of repaid.map((row) => subjectRow.parse(row)))
        await this.alerts.resolve(tx, { rule: 'overdraft', subject });
      const begun: unknown[] = await tx.query(
        `SELECT * FROM (${LOW}) low WHERE subject NOT IN (${open}) LIMIT ${RAISED_MAX}`,
      );
      for (const { subject, balance, bought, ...detail } of begun.map((row) => lowRow.parse(row))) {
        await this.alerts.raise(tx, {
          rule: 'low_balance',
          subject,
          message: `${balance} of the ${bought} tokens of the last purchase are left`,
          detail,
        });
      }
    });
  }
}
