import { USAGE_PERIODS, type UsagePeriod } from '../../platform/database/usage-periods.ts';
import { priceBefore } from '../models/price-then.sql.ts';

/** Describes the value of charged tokens in the API document. */
export const SPEND =
  'Charged tokens at the price that their model had at the end of each day (UTC), or of each interval, whichever lot paid for them';
const MONTH_DAYS = 30;
const { day } = USAGE_PERIODS;

/** Writes SQL for when a period that begins at `begin` ends. */
const endOf = ({ type, lengthMs }: UsagePeriod, begin: string): string =>
  `(${type === 'date' ? `${begin}::timestamp AT TIME ZONE 'UTC'` : begin} + interval '${lengthMs / 1_000} seconds')`;

/** Writes SQL for one row of arrays, the prices that models had in the periods in which they were used, for `PRICES`. Some thousands stand for millions of rows. */
export const pricesOf = (period: UsagePeriod, within: string): string =>
  `SELECT coalesce(array_agg(s.at), '{}') AS at, coalesce(array_agg(s.model_id), '{}') AS models, coalesce(array_agg(s.price), '{}') AS prices
   FROM (SELECT u.at::text, u.model_id, coalesce(${priceBefore('u.model_id', endOf(period, 'u.at'))}, 0)::float8 AS price
     FROM (SELECT DISTINCT u.${period.column} AS at, u.model_id FROM ${period.totals} u WHERE ${within}) u) s`;

/** Writes SQL that has these prices as rows `prices`, joined by period and model. PostgreSQL knows how many they are, and reads the usage once. */
export const joinPrices = (
  { column, type }: UsagePeriod,
  [at, models, prices]: readonly string[],
): string =>
  `JOIN unnest(${at}::${type}[], ${models}::int[], ${prices}::float8[]) AS prices(${column}, model_id, price) USING (${column}, model_id)`;

/** Writes SQL for the value in micro-units of a row `u` with its `price`. */
export const valueOf = (price: string): string => `u.charge::float8 * ${price} / 1000000`;

/** Writes SQL for the same of all rows. */
export const spendOf = (price: string): string => `round(coalesce(sum(${valueOf(price)}), 0))`;

const IN_MONTH = `u.day > (now() AT TIME ZONE 'UTC')::date - ${MONTH_DAYS}`;
export const PRICES_OF_MONTH = pricesOf(day, IN_MONTH);

/** Writes SQL for what one account spent in 30 days, in micro-units; it serves a few accounts. */
export const spendOfMonth = (userId: string): string =>
  `(SELECT ${spendOf(priceBefore('u.model_id', endOf(day, 'u.day')))} FROM ${day.rollups} u WHERE u.user_id = ${userId} AND ${IN_MONTH})`;

/** Writes SQL for what each account that used something spent in 30 days, as rows of `user_id` and `spend`. */
export const spentInMonth = (prices: readonly string[]): string =>
  `(SELECT u.user_id, ${spendOf('prices.price')} AS spend FROM ${day.rollups} u ${joinPrices(day, prices)} WHERE ${IN_MONTH} GROUP BY u.user_id)`;

const lastPeriod = (name: 'minute' | 'hour', userId: string): string =>
  `(SELECT max(u.${name}) FROM ${USAGE_PERIODS[name].rollups} u WHERE u.user_id = ${userId})`;

/** Writes SQL for the minute in which an account made its last request; for its hour, or its day, where that was too long ago. */
export const lastUseOf = (userId: string): string =>
  `coalesce(${lastPeriod('minute', userId)}, ${lastPeriod('hour', userId)}, (SELECT max(u.day)::timestamp AT TIME ZONE 'UTC' FROM ${day.rollups} u WHERE u.user_id = ${userId}))`;
