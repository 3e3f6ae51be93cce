import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { z } from 'zod';
import { BackgroundLoop } from '../../platform/background/background-loop.ts';
import { Transactions } from '../../platform/database/transactions.ts';
import { AlertsService } from '../alerts/alerts.service.ts';
import { FOR_SALE_UNPRICED } from './pricing.service.ts';

const LOOK_MS = 60_000;
const RETRY_MS = 5_000;
/** New alerts a look; the next look brings the rest. */
const RAISED_MAX = 500;

const subjectRow = z.object({ subject: z.string() });
const modelRow = z.object({ id: z.number(), name: z.string() });

/**
 * Raises and resolves `model_not_priced`: models for sale at a zero that no administrator declared. They come from releases in which every
 * model began on the shelf at no price. It checks the state, not events: it does not matter who put the model there, or what ended it. Replicas that look at the same time raise one alert.
 */
@Injectable()
export class PriceWatch implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('price-watch');
  private readonly loop = new BackgroundLoop({
    everyMs: LOOK_MS,
    retryMs: RETRY_MS,
    work: () => this.look(),
    onFailing: (error) => this.logger.warn(error, 'prices cannot be watched; trying again'),
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
      const open = (await this.alerts.openOf(tx, 'model_not_priced')).map(({ subject }) => subject);
      const over: unknown[] = await tx.query(
        `SELECT subject FROM unnest($1::text[]) AS open(subject) WHERE subject NOT IN (SELECT 'model:' || found.id FROM (${FOR_SALE_UNPRICED}) found)`,
        [open],
      );
      for (const { subject } of over.map((row) => subjectRow.parse(row)))
        await this.alerts.resolve(tx, { rule: 'model_not_priced', subject });
      const begun: unknown[] = await tx.query(
        `SELECT * FROM (${FOR_SALE_UNPRICED}) found WHERE NOT 'model:' || found.id = ANY($1) ORDER BY found.id LIMIT ${RAISED_MAX}`,
        [open],
      );
      for (const { id, name } of begun.map((row) => modelRow.parse(row))) {
        await this.alerts.raise(tx, {
          rule: 'model_not_priced',
          subject: `model:${id}`,
          message: `Model "${name}" is for sale and was never priced: set a price, declare it free, or take it off the shelf`,
          detail: { model_id: id },
        });
      }
    });
  }
}
