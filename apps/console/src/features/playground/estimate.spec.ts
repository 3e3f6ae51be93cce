import { expect, test } from '@jest/globals';
import { estimateTokens } from './estimate.ts';

test.each([
  ['', 0],
  ['The parcel arrives on Monday.', 8],
  ['包裹周一到达', 6],
  ['包裹 on Monday', 5],
])('the text %j is estimated at %i tokens', (text, tokens) =>
  expect(estimateTokens(text)).toBe(tokens),
);

test('a longer text never counts less', () => {
  const text = 'one 二 three 四 five';
  for (let end = 1; end <= text.length; end += 1)
    expect(estimateTokens(text.slice(0, end))).toBeGreaterThanOrEqual(
      estimateTokens(text.slice(0, end - 1)),
    );
});
