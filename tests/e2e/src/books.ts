import { setTimeout as delay } from 'node:timers/promises';
import type { RecordEntry } from '@tollgate/demo-upstream';
import type { Customer, Tollgate } from '@tollgate/harness';
import { z } from 'zod';

const WAIT_MS = 10_000;
const PAUSE_MS = 20;

const usageRow = z.looseObject({
  charge: z.number(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  basis: z.string(),
  outcome: z.string(),
});
export type UsageRow = z.infer<typeof usageRow>;

/** What the demo upstream says of the last attempt of a request. */
export async function recordOf(tollgate: Tollgate, rid: string): Promise<RecordEntry> {
  const response = await fetch(`${tollgate.upstreamUrl}/record?rid=${rid}`);
  const entry = ((await response.json()) as RecordEntry[]).at(-1);
  if (!entry) throw new Error(`the provider knows nothing of ${rid}`);
  return entry;
}

/** The request's usage rows as an administrator sees them, once they have arrived (usage lags by at most a second). */
export async function settledRows(tollgate: Tollgate, rid: string): Promise<UsageRow[]> {
  return until(async () => {
    const rows = await tollgate.admin.list(`/usage/logs?rid=${rid}`);
    return rows.length > 0 ? z.array(usageRow).parse(rows) : undefined;
  }, `usage row of ${rid}`);
}

/** Live balance of a customer's subscription, once nothing is held any more. */
export async function balanceOf(_: Tollgate, customer: Customer, modelId: number): Promise<number> {
  return until(async () => {
    const mine = (await customer.client.list('/models/my')).find(
      (item) => item.model_id === modelId,
    );
    return mine && mine.held === 0 ? z.number().parse(mine.tokens) : undefined;
  }, `settled balance of model ${modelId}`);
}

/** Asks again until there is an answer; fails by name when none comes in time. */
export async function until<T>(
  ask: () => Promise<T | undefined>,
  what: string,
  waitMs = WAIT_MS,
): Promise<T> {
  const deadline = Date.now() + waitMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (Date.now() > deadline) throw new Error(`waited ${waitMs} ms without success for: ${what}`);
    await delay(PAUSE_MS);
  }
}
