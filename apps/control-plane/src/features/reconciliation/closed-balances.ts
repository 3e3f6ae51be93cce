import { Injectable } from '@nestjs/common';
import { LiveRecords, type BalanceMark, type SubscriptionRef } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { Watch } from '../../platform/background/watch.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { PurchasesService } from '../subscriptions/purchases.service.ts';
import { unsettledPages } from '../subscriptions/read-subscriptions.sql.ts';
import { WithdrawalsService } from '../subscriptions/withdrawals.service.ts';
import { driftsAt } from './drift.sql.ts';
import { unreadable } from './unreadable.ts';

/** Two consecutive checks must agree, so a subscription is settled one to two intervals after its last usage was booked. */
const LOOK_MS = 2_000;

/**
 * Settles closed subscriptions: it pays out the rest of their tokens, and buys from the refund what the account used beyond them. Redis can lose its
 * data before the event of a release is relayed, and a final may come after the tokens of its hold were refunded. It acts only where Redis holds
 * exactly the ledger's balance and no request holds any of it.
 */
@Injectable()
export class ClosedBalances extends Watch {
  /** Maps subscriptions to the balance that the previous check found. */
  private seen = new Map<number, number>();

  constructor(
    private readonly dataSource: DataSource,
    private readonly records: LiveRecords,
    private readonly withdrawals: WithdrawalsService,
    private readonly purchases: PurchasesService,
    private readonly transactions: Transactions,
  ) {
    super({
      name: 'closed-balances',
      everyMs: LOOK_MS,
      retryMs: 10_000,
      failing: 'closed subscriptions cannot be checked; trying again',
    });
  }

  /** Returns how many subscriptions were settled. */
  async look(): Promise<number> {
    const found = await this.unsettled();
    const unchanged = found.filter(({ id, balance }) => this.seen.get(id) === balance);
    this.seen = new Map(found.map(({ id, balance }) => [id, balance]));
    let settled = 0;
    for (const mark of unchanged) {
      const { id, balance } = mark;
      if (!(await this.settle(mark))) continue;
      this.logger.log(`closed subscription ${id} had ${balance} tokens; that is settled`);
      settled += 1;
    }
    return settled;
  }

  private settle({ id, modelId, balance }: BalanceMark): Promise<boolean> {
    return balance > 0
      ? this.withdrawals.payOut(id)
      : this.transactions.run((tx) => this.purchases.repay(tx, { id, modelId }));
  }

  private async unsettled(): Promise<BalanceMark[]> {
    const found: BalanceMark[] = [];
    for await (const page of unsettledPages(this.dataSource))
      found.push(...(await this.exactlyIn(page)));
    return found;
  }

  /** Returns the subscriptions whose balance in Redis equals the ledger's and of which no request holds anything. */
  private async exactlyIn(refs: readonly SubscriptionRef[]): Promise<BalanceMark[]> {
    const all = await Promise.all(refs.map((ref) => this.records.mark(ref).catch(unreadable)));
    const marks = all
      .filter((mark) => mark !== null && mark !== 'unreadable')
      .filter(({ held, running, balance }) => held === 0 && running === 0 && balance !== 0);
    const drifts = await driftsAt(this.dataSource, marks);
    return marks.filter(({ id }) => {
      const drift = drifts.get(id);
      return drift?.tokens === 0 && !drift.isRepairing;
    });
  }
}
