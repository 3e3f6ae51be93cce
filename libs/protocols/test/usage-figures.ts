import { NO_USAGE, type TokenUsage } from '@tollgate/contracts';

export const chat = (
  prompt_tokens: number,
  completion_tokens: number,
  total_tokens: number,
  more: object = {},
): object => ({ prompt_tokens, completion_tokens, total_tokens, ...more });

export const usage = (
  input: number,
  cacheRead: number,
  cacheWrite: number,
  output: number,
  reasoning: number,
): TokenUsage => ({ ...NO_USAGE, input, cacheRead, cacheWrite, output, reasoning });
