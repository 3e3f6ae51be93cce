/** What a model that answers in the background usually generates in a second, hidden reasoning included: vendors serve such models at 30 to 300. */
export const GENERATED_TOKENS_PER_SECOND = 100;
/** A run may be this much faster, or as much slower, than the rate by which it is charged. */
export const GENERATION_RATE_SPREAD = 3;

/**
 * What a run has generated at most in this time, for one whose provider never says: so that a run which its caller ends is charged in full up to
 * `GENERATION_RATE_SPREAD` times the usual rate. `usualTokens`: by the model's own rate, where it has been seen and is higher.
 */
export function generatedAtMost(runningMs: number, usualTokens: number): number {
  const byRate = (Math.max(0, runningMs) / 1_000) * GENERATED_TOKENS_PER_SECOND;
  return Math.ceil(GENERATION_RATE_SPREAD * Math.max(byRate, usualTokens));
}
