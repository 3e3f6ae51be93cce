import { z } from 'zod';
import { booleanFilter } from '../../platform/http/list-query.ts';

/** `forfeit` gives up the money and tokens that the account still holds. */
export const removeAccountSchema = z.strictObject({
  drain: booleanFilter.default(false),
  forfeit: booleanFilter.default(false),
});
export type RemoveAccount = z.output<typeof removeAccountSchema>;

/** `refund` closes and refunds the subscriptions of the model. */
export const removeModelSchema = z.strictObject({ refund: booleanFilter.optional() });
export type RemoveModel = z.infer<typeof removeModelSchema>;
