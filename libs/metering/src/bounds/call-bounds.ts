import { CALL_KEYS, type CallCounts } from '@tollgate/contracts';

/** A model that reads by itself does so in rounds, each within its context window. */
export const READING_ROUNDS_MAX = 10;

/** Returns the most calls of each class that a request allows. A model that reads by itself may call each tool in every round. */
export function callBound({
  ask,
  model,
}: {
  ask: { prompt: { calls?: CallCounts } };
  model: { reads_more_than_sent?: boolean | undefined };
}): CallCounts | undefined {
  const { calls } = ask.prompt;
  if (!model.reads_more_than_sent) return calls;
  return Object.fromEntries(
    CALL_KEYS.map((key) => [key, Math.max(calls?.[key] ?? 0, READING_ROUNDS_MAX)]),
  );
}
