import { z } from 'zod';
import { booleanFilter } from '../../platform/http/list-query.ts';

/** `forfeit`: money and tokens the account still holds are given up. */
export const removeAccountSchema = z.strictObject({
  drain: booleanFilter.default(false),
  forfeit: booleanFilter.default(false),
});
export type RemoveAccount = z.output<typeof removeAccountSchema>;

/** `refund`: subscriptions of the model are closed and refunded. */
export const removeModelSchema = z.strictObject({ refund: booleanFilter.optional() });
export type RemoveModel = z.infer<typeof removeModelSchema>;
