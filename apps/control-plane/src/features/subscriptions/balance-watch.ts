import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';
import { tryLock } from '../../platform/database/advisory-hold.ts';
import { ADVISORY_LOCKS } from '../../platform/database/advisory-locks.ts';
import { BackgroundLoop } from '../../platform/background/background-loop.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { AlertsService } from '../alerts/alerts.service.ts';

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
      if (!(await tryLock(tx, ADVISORY_LOCKS.balanceWatch))) return;
      const open = await this.openOf(tx, 'low_balance');
      const over: unknown[] = await tx.query(
        `SELECT subject FROM unnest($1::text[]) AS open(subject) WHERE subject NOT IN (SELECT subject FROM (${LOW}) low)`,
        [open],
      );
      for (const { subject } of over.map((row) => subjectRow.parse(row)))
        await this.alerts.resolve(tx, { rule: 'low_balance', subject });
      const repaid: unknown[] = await tx.query(REPAID, [await this.openOf(tx, 'overdraft')]);
      for (const { subject } of repaid.map((row) => subjectRow.parse(row)))
        await this.alerts.resolve(tx, { rule: 'overdraft', subject });
      const begun: unknown[] = await tx.query(
        `SELECT * FROM (${LOW}) low WHERE NOT subject = ANY($1) LIMIT ${RAISED_MAX}`,
        [open],
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

  private async openOf(tx: EntityManager, rule: 'low_balance' | 'overdraft'): Promise<string[]> {
    return (await this.alerts.openOf(tx, rule)).map(({ subject }) => subject);
  }
}
