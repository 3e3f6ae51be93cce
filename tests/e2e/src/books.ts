import type { RecordEntry } from '@tollgate/demo-upstream';
import { until, type Customer, type Tollgate } from '@tollgate/harness';
import { z } from 'zod';

const usageRow = z.looseObject({
  charge: z.number(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  basis: z.string(),
  outcome: z.string(),
});
export type UsageRow = z.infer<typeof usageRow>;

/** Returns what the demo upstream says of the last attempt of a request. */
export async function recordOf(tollgate: Tollgate, rid: string): Promise<RecordEntry> {
  const response = await fetch(`${tollgate.upstreamUrl}/record?rid=${rid}`);
  const entry = ((await response.json()) as RecordEntry[]).at(-1);
  if (!entry) throw new Error(`the provider knows nothing of ${rid}`);
  return entry;
}

/** Returns the request's usage rows as an administrator sees them, once they have arrived (usage lags by at most a second). */
export async function settledRows(tollgate: Tollgate, rid: string): Promise<UsageRow[]> {
  return until(`usage row of ${rid}`, async () => {
    const rows = await tollgate.admin.list(`/usage/logs?rid=${rid}`);
    return rows.length > 0 && z.array(usageRow).parse(rows);
  });
}

/** Live balance of a customer's subscription, once nothing is held any more. */
export async function balanceOf(_: Tollgate, customer: Customer, modelId: number): Promise<number> {
  return until(`settled balance of model ${modelId}`, async () => {
    const mine = (await customer.client.list('/models/my')).find(
      (item) => item.model_id === modelId,
    );
    return mine && mine.held === 0 ? z.number().parse(mine.tokens) : undefined;
  });
}
