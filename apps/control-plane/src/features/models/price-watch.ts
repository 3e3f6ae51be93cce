import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { Watch } from '../../platform/background/watch.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { keepStateAlerts } from '../alerts/state-alerts.sql.ts';
import { FOR_SALE_UNPRICED } from './prices-in-force.service.ts';

const LOOK_MS = 60_000;

const modelRow = z.object({ subject: z.string(), id: z.number(), name: z.string() });

/**
 * Raises and resolves `model_not_priced` for models for sale at a zero that no administrator declared. It checks the state and not events, whatever
 * caused the state. Replicas that check at the same time raise one alert.
 */
@Injectable()
export class PriceWatch extends Watch {
  constructor(
    private readonly transactions: Transactions,
    private readonly alerts: AlertsService,
  ) {
    super({
      name: 'price-watch',
      everyMs: LOOK_MS,
      failing: 'prices cannot be watched; trying again',
    });
  }

  async look(): Promise<void> {
    await this.transactions.run((tx) =>
      keepStateAlerts(tx, this.alerts, {
        rule: 'model_not_priced',
        found: `SELECT 'model:' || id AS subject, id, name FROM (${FOR_SALE_UNPRICED}) model ORDER BY id`,
        say: (row) => {
          const { id, subject, name } = modelRow.parse(row);
          return {
            subject,
            message: `Model "${name}" is for sale and was never priced: set a price, declare it free, or take it off the shelf`,
            detail: { model_id: id },
          };
        },
      }),
    );
  }
}
