import { Injectable, Logger } from '@nestjs/common';
import { LiveRecords, type BalanceMark } from '@tollgate/keyspace';
import { DataSource } from 'typeorm';
import { Transactions } from '../../platform/database/transactions.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { forgetApplied } from '../live-state/live-rows.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import { lastAppliedOf } from './drift.ts';
import { unreadable } from './unreadable.ts';

/**
 * Finds credits that Redis had and has lost, as after a failover that lost more than is repeated. They look as if they were on their way: no balance
 * drifts by them, and nothing carries them before the next credit of the subscription.
 */
@Injectable()
export class LostCredits {
  private readonly logger = new Logger('reconciliation');

  constructor(
    private readonly dataSource: DataSource,
    private readonly transactions: Transactions,
    private readonly records: LiveRecords,
    private readonly live: LiveStateService,
    private readonly alerts: AlertsService,
  ) {}

  /** Answers the ids of subscriptions whose lost credits are on their way again. */
  async sendAgain(marks: readonly BalanceMark[]): Promise<ReadonlySet<number>> {
    const lastApplied = await lastAppliedOf(this.dataSource, marks);
    const sent = new Set<number>();
    for (const mark of marks) {
      const last = lastApplied.get(mark.id);
      // A credit is noted once Redis has it: the mark may be older than the note, what is read now is not.
      const now = last === undefined ? null : await this.records.mark(mark).catch(unreadable);
      if (last === undefined || !now || now === 'unreadable' || now.creditSeq >= last) continue;
      await this.repeat(mark.id, { counted: now.creditSeq, last });
      sent.add(mark.id);
    }
    return sent;
  }

  private repeat(id: number, { counted, last }: { counted: number; last: number }): Promise<void> {
    const message = `Subscription ${id}: Redis has lost credits: it had ${last} and has ${counted}; the others are sent again`;
    this.logger.error(message);
    return this.transactions.run(async (tx) => {
      await forgetApplied(tx, id, counted);
      await this.alerts.raise(tx, {
        rule: 'drift',
        subject: `subscription:${id}`,
        message,
        detail: { kind: 'lost_credits', counted, last },
      });
      await this.live.creditAdded(tx, id);
    });
  }
}
