import { NO_USAGE, type TokenUsage } from '@tollgate/contracts';

/** The least any known provider counts for an inline image: an estimate must not charge for more than was sent. */
const TOKENS_PER_IMAGE_MIN = 85;

/**
 * Usage of a request whose upstream reported none: the text of the prompt and of what was generated, as tokenised, no template tokens.
 * Never the byte bound, which is for holds (docs/design/metering.md#deduction). Counts in plain tokens; goes with basis `estimated`.
 */
export function estimateUsage({
  promptTextTokens,
  imageCount,
  outputTokens,
}: {
  promptTextTokens: number;
  imageCount: number;
  outputTokens: number;
}): TokenUsage {
  return {
    ...NO_USAGE,
    input: promptTextTokens + imageCount * TOKENS_PER_IMAGE_MIN,
    output: outputTokens,
  };
}
