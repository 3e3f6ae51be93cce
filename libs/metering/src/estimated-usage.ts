import { NO_USAGE, type TokenUsage } from '@tollgate/contracts';

/** This is the least that any known provider counts for an inline image: an estimate must not charge for more than was sent. */
const TOKENS_PER_IMAGE_MIN = 85;

/**
 * Estimates the usage of a request whose upstream reported none: the tokenised text of the prompt and of the output, without template tokens. It
 * never uses the byte bound, which is for holds (docs/design/metering.md#deduction). Counts are plain tokens, with the basis `estimated`.
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
