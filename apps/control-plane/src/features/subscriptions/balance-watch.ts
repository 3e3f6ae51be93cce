import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { tryLock } from '../../platform/database/advisory-hold.ts';
import { ADVISORY_LOCKS } from '../../platform/database/advisory-locks.ts';
import { Watch } from '../../platform/background/watch.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { keepStateAlerts } from '../alerts/state-alerts.sql.ts';
import { LOW_BALANCES, lowBalanceRow, repaidOf } from './low-balances.sql.ts';

const LOOK_MS = 60_000;

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
        found: LOW_BALANCES,
        say: (row) => {
          const { subject, balance, bought, ...detail } = lowBalanceRow.parse(row);
          const message = `${Number(balance).toLocaleString('en')} of the ${Number(bought).toLocaleString('en')} tokens of the last purchase are left`;
          return { subject, message, detail: { ...detail, balance, bought } };
        },
      });
      await this.resolveRepaid(tx);
    });
  }

  private async resolveRepaid(tx: EntityManager): Promise<void> {
    const open = await this.alerts.openOf(tx, 'overdraft');
    const subjects = open.map(({ subject }) => subject);
    for (const subject of await repaidOf(tx, subjects))
      await this.alerts.resolve(tx, { rule: 'overdraft', subject });
  }
}
