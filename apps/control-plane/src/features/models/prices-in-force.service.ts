import { Injectable } from '@nestjs/common';
import { micros, type Micros } from '@tollgate/money';
import type { EntityManager } from 'typeorm';
import { z } from 'zod';

/** `now()` is the start of the transaction, which may be before versions that it waited for. */
export const AFTER_LOCKS = 'clock_timestamp()';
/** Selects the newest version at or before the time, per model. */
export const inForceAt = (moment: 'now()' | typeof AFTER_LOCKS): string =>
  `price.id = (SELECT p.id FROM price_versions p WHERE p.model_id = price.model_id AND p.effective_at <= ${moment} ORDER BY p.effective_at DESC, p.id DESC LIMIT 1)`;
export const IN_FORCE = inForceAt('now()');
/** Selects prices that charge something or are declared free: an undeclared zero is not a price. */
const IS_DELIBERATE =
  '(price.is_free OR (price.price_per_million > 0 AND price.weight_input + price.weight_output > 0))';

const priceNowRow = z.object({ price_per_million: z.coerce.bigint(), at: z.string() });
interface PriceNow {
  perMillion: Micros;
  /** Is the timestamp of PostgreSQL, to the microsecond. */
  at: string;
}

/** Reads the current price of a model and locks its prices. */
@Injectable()
export class PricesInForce {
  /** Returns whether a price is in force that charges something or is declared free. */
  async isPriced(tx: EntityManager, modelId: number): Promise<boolean> {
    const rows: unknown[] = await tx.query(
      `SELECT FROM price_versions price WHERE price.model_id = $1 AND ${IN_FORCE} AND ${IS_DELIBERATE}`,
      [modelId],
    );
    return rows.length > 0;
  }

  /** Prevents new prices of the model until `tx` ends. Call it before locking any subscription, in the same order as callers that lock the model itself. */
  async lockPrices(tx: EntityManager, modelId: number): Promise<void> {
    await tx.query('SELECT FROM models WHERE id = $1 FOR SHARE', [modelId]);
  }

  /**
   * Returns the price of a million charged tokens by the database's current clock, and locks the prices. The start of `tx` does not count, because it
   * may have waited for locks.
   */
  async priceNow(tx: EntityManager, modelId: number): Promise<PriceNow> {
    const rows: unknown[] = await tx.query(
      `WITH moment AS MATERIALIZED (SELECT ${AFTER_LOCKS} AS at)
       SELECT p.price_per_million, moment.at::text FROM moment JOIN price_versions p ON p.model_id = $1 AND p.effective_at <= moment.at
       ORDER BY p.effective_at DESC, p.id DESC LIMIT 1`,
      [modelId],
    );
    const { price_per_million: perMillion, at } = priceNowRow.parse(rows[0]);
    return { perMillion: micros(perMillion), at };
  }
}
