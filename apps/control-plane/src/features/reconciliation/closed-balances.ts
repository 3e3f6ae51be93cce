import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { LiveRecords, type BalanceMark, type SubscriptionRef } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { z } from 'zod';
import { BackgroundLoop } from '../../platform/background/background-loop.ts';
import { WithdrawalsService } from '../subscriptions/withdrawals.service.ts';
import { unreadable } from './altered-counts.ts';
import { driftsAt } from './drift.ts';

/** Two looks must find the same, so tokens are paid out one to two of these after the last request ended. */
const LOOK_MS = 60_000;
const RETRY_MS = 10_000;
const PAGE = 500;

/** The ledger owes these tokens to an account that has closed the subscription. */
const LEFT_OVER = `
  SELECT id, user_id, model_id FROM subscriptions
  WHERE status = 'closed' AND balance > greatest(overdraft, 0) AND id > $1 ORDER BY id LIMIT ${PAGE}`;
const leftOverRow = z
  .object({ id: z.number(), user_id: z.number(), model_id: z.number() })
  .transform((row) => ({ id: row.id, accountId: row.user_id, modelId: row.model_id }));

/**
 * Pays out what is left in closed subscriptions. What running requests release after a withdrawal is refunded by an event of its own, which
 * is lost when Redis loses its data before the event is relayed. Only where Redis holds exactly what the ledger owes and no request holds any of it.
 */
@Injectable()
export class ClosedBalances implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('closed-balances');
  /** Balance by subscription as the look before found it. */
  private seen = new Map<number, number>();
  private readonly loop = new BackgroundLoop({
    everyMs: LOOK_MS,
    retryMs: RETRY_MS,
    work: async () => void (await this.look()),
    onFailing: (error) =>
      this.logger.warn(error, 'closed subscriptions cannot be checked; trying again'),
  });

  constructor(
    private readonly dataSource: DataSource,
    private readonly records: LiveRecords,
    private readonly withdrawals: WithdrawalsService,
  ) {}

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  /** Answers how many are being paid out. */
  async look(): Promise<number> {
    const found = await this.leftOver();
    const unchanged = found.filter(({ id, balance }) => this.seen.get(id) === balance);
    this.seen = new Map(found.map(({ id, balance }) => [id, balance]));
    let paid = 0;
    for (const { id, balance } of unchanged) {
      if (!(await this.withdrawals.payOut(id))) continue;
      this.logger.log(`${balance} tokens left in closed subscription ${id} are refunded`);
      paid += 1;
    }
    return paid;
  }

  private async leftOver(): Promise<BalanceMark[]> {
    const found: BalanceMark[] = [];
    for (let afterId = 0; ;) {
      const raw: unknown[] = await this.dataSource.query(LEFT_OVER, [afterId]);
      const page = raw.map((row) => leftOverRow.parse(row));
      found.push(...(await this.exactlyIn(page)));
      const last = page.at(-1);
      if (page.length < PAGE || !last) return found;
      afterId = last.id;
    }
  }

  /** Those of which Redis holds what the ledger says, and no request anything. */
  private async exactlyIn(refs: readonly SubscriptionRef[]): Promise<BalanceMark[]> {
    const all = await Promise.all(refs.map((ref) => this.records.mark(ref).catch(unreadable)));
    const marks = all
      .filter((mark) => mark !== null && mark !== 'unreadable')
      .filter(({ held, running, balance }) => held === 0 && running === 0 && balance > 0);
    const drifts = await driftsAt(this.dataSource, marks);
    return marks.filter(({ id }) => {
      const drift = drifts.get(id);
      return drift?.tokens === 0 && !drift.isRepairing;
    });
  }
}
