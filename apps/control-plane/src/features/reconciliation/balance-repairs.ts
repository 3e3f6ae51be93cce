import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Transactions } from '../../platform/database/transactions.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { LiveStateService } from '../live-state/live-state.service.ts';
import { TokenLedger } from '../subscriptions/token-ledger.service.ts';

/** Sets a balance of Redis to the ledger's, with an alert that stays until the balance is seen without drift. */
@Injectable()
export class BalanceRepairs {
  private readonly logger = new Logger('reconciliation');

  constructor(
    private readonly dataSource: DataSource,
    private readonly transactions: Transactions,
    private readonly tokens: TokenLedger,
    private readonly live: LiveStateService,
    private readonly alerts: AlertsService,
  ) {}

  /** `tokens` is the amount by which Redis is below the ledger; it is negative where Redis is above. */
  async repair(id: number, tokens: number): Promise<void> {
    const message = `Subscription ${id}: Redis was ${Math.abs(tokens).toLocaleString('en')} tokens ${tokens > 0 ? 'below' : 'above'} the ledger; it has been repaired`;
    this.logger.error(message);
    await this.transactions.run(async (tx) => {
      await this.tokens.correctLive(tx, await this.tokens.lockOne(tx, id), {
        delta: tokens,
        kind: 'reconciliation',
      });
      await this.alerts.raise(tx, {
        rule: 'drift',
        subject: `subscription:${id}`,
        message,
        detail: {
          kind: tokens > 0 ? 'below' : 'above',
          tokens,
          difference: Math.abs(tokens),
        },
      });
      await this.live.subscriptionChanged(tx, id);
    });
  }

  async noteClean(id: number): Promise<void> {
    await this.alerts.resolve(this.dataSource.manager, {
      rule: 'drift',
      subject: `subscription:${id}`,
    });
  }
}
