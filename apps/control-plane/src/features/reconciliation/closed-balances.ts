import { Injectable } from '@nestjs/common';
import { LiveRecords, type BalanceMark, type SubscriptionRef } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { Watch } from '../../platform/background/watch.ts';
import { leftOverPages } from '../subscriptions/read-subscriptions.ts';
import { WithdrawalsService } from '../subscriptions/withdrawals.service.ts';
import { driftsAt } from './drift.ts';
import { unreadable } from './unreadable.ts';

/** Two looks must find the same, so tokens are paid out one to two of these after the last request ended. */
const LOOK_MS = 60_000;

/**
 * Pays out what remains in closed subscriptions. What running requests release after a withdrawal is refunded by an event of its own, which
 * is lost when Redis loses its data before the event is relayed. Only where Redis holds exactly what the ledger owes and no request holds any of it.
 */
@Injectable()
export class ClosedBalances extends Watch {
  /** Balance by subscription as the look before found it. */
  private seen = new Map<number, number>();

  constructor(
    private readonly dataSource: DataSource,
    private readonly records: LiveRecords,
    private readonly withdrawals: WithdrawalsService,
  ) {
    super({
      name: 'closed-balances',
      everyMs: LOOK_MS,
      retryMs: 10_000,
      failing: 'closed subscriptions cannot be checked; trying again',
    });
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
    for await (const page of leftOverPages(this.dataSource))
      found.push(...(await this.exactlyIn(page)));
    return found;
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
