import { BYTES_PER_TOKEN_MAX, countTokensGently } from '@tollgate/metering/token-counter';
import type { PromptFacts } from '@tollgate/protocols';
import { nextTurn } from '../../next-turn.ts';

/** Is about what the largest context windows hold. More text than any model reads must not be tokenised in full: the rest is counted by its bytes. */
export const TOKENISED_CHARS_MAX = 4 * 1024 * 1024;

/** Counts the tokens of the prompt's text, to replace the byte bound where that does not fit; the result is never below the true count. Beside other requests it counts a batch at a time. Above `tokensMax` the answer is some number above it: what is certainly too long is not tokenised at all, the rest only until that is certain. */
export async function countPrompt(
  { textBytes, text }: Pick<PromptFacts, 'textBytes' | 'text'>,
  tokensMax = Infinity,
): Promise<number> {
  if (textBytes / BYTES_PER_TOKEN_MAX > tokensMax) return Infinity;
  const whole = text();
  const counted = whole.slice(0, TOKENISED_CHARS_MAX);
  const restBytes = counted.length < whole.length ? textBytes - Buffer.byteLength(counted) : 0;
  return restBytes + (await countTokensGently(counted, nextTurn, tokensMax - restBytes));
}
