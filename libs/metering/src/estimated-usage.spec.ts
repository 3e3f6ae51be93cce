import { expect, test } from '@jest/globals';
import { NO_USAGE } from '@tollgate/contracts';
import { estimateUsage } from './estimated-usage.ts';

test('usage without a report is the text, and 85 tokens for each image', () => {
  expect(estimateUsage({ promptTextTokens: 40, imageCount: 3, outputTokens: 7 })).toEqual({
    ...NO_USAGE,
    input: 40 + 3 * 85,
    output: 7,
  });
});
