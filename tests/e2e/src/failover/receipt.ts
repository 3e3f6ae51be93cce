import { until } from '@tollgate/harness';
import { z } from 'zod';
import { recordOf } from '../books.ts';
import type { TwoUpstreams } from './two-upstreams.ts';

const attempt = z.object({
  upstream_id: z.number(),
  status: z.number().optional(),
  error: z.string().optional(),
  cost: z.object({ input_tokens: z.number(), output_tokens: z.number() }).optional(),
});
const receiptSchema = z.object({
  route: z.array(attempt),
  outcome: z.string(),
  charge: z.number(),
});
export type Receipt = z.infer<typeof receiptSchema>;

/** Returns the receipt once it is booked. */
export function receiptOf({ tollgate }: TwoUpstreams, rid: string): Promise<Receipt> {
  return until(`receipt of ${rid}`, async () => {
    const found = await tollgate.admin
      .call('GET', `/usage/logs/${rid}/receipt`)
      .catch(() => undefined);
    return receiptSchema.safeParse(found).data;
  });
}

/** Returns what the provider says the last attempt used: the answer that the client got. */
export async function usedByWinner({ tollgate }: TwoUpstreams, rid: string): Promise<number> {
  const { reported } = await recordOf(tollgate, rid);
  return (reported?.prompt ?? 0) + (reported?.output ?? 0);
}
